// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <type_traits>
#include <utility>

namespace executorch::runtime {

template <typename Signature>
class FunctionRef;

/// A reference to something callable: a parameter type for callbacks that are used during the call
/// only. It owns nothing; the callable must outlive it.
template <typename Return, typename... Args>
class FunctionRef<Return(Args...)> final {
 public:
  FunctionRef() = default;
  /* implicit */ FunctionRef(decltype(nullptr)) {}

  template <typename Callable,
            typename = std::enable_if_t<
                !std::is_same_v<std::remove_cv_t<std::remove_reference_t<Callable>>, FunctionRef> &&
                std::is_invocable_r_v<Return, Callable&, Args...>>>
  /* implicit */ FunctionRef(Callable&& callable)
      : call_(&call<std::remove_reference_t<Callable>>) {
    using Target = std::remove_reference_t<Callable>;
    if constexpr (std::is_function_v<Target>) {
      target_.function = reinterpret_cast<void (*)()>(&callable);
    } else {
      target_.object = const_cast<void*>(static_cast<const void*>(&callable));
    }
  }

  Return operator()(Args... args) const { return call_(target_, std::forward<Args>(args)...); }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  union Target {
    void* object = nullptr;
    void (*function)();
  };

  template <typename Callable>
  static Return call(Target target, Args... args) {
    if constexpr (std::is_function_v<Callable>) {
      return reinterpret_cast<Callable*>(target.function)(std::forward<Args>(args)...);
    } else {
      return (*static_cast<Callable*>(target.object))(std::forward<Args>(args)...);
    }
  }

  Return (*call_)(Target, Args...) = nullptr;
  Target target_;
};

}  // namespace executorch::runtime
