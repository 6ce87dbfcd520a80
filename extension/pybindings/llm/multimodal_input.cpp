// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#ifndef USE_ATEN_LIB
#include <executorch/extension/llm/runner/multimodal_input.h>

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/llm/llm_runner.h>
#include <executorch/extension/pybindings/tensor/tensor_object.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

using aten::ScalarType;
using llm::Audio;
using llm::Image;
using llm::MultimodalInput;
using llm::RawAudio;

/// Elements of a Python tensor: dense, and sizes without a batch of one image.
class DenseTensor final {
 public:
  DenseTensor(py::handle object, const char* function) : function_(function) {
    const TensorType type = tensor_type(Py_TYPE(object.ptr()));
    if (type.access == TensorAccess::None) refuse("a tensor", Py_TYPE(object.ptr())->tp_name);
    view_ = view_tensor(object, type, {function_, 0}, keep_alive_);
  }

  size_t rank() const { return view_.rank; }
  int32_t size(size_t dim) const { return static_cast<int32_t>(view_.sizes[dim]); }
  ScalarType type() const { return view_.type->type; }
  /// Removes the first dimension.
  void drop_batch() {
    std::copy(view_.sizes.begin() + 1, view_.sizes.end(), view_.sizes.begin());
    std::copy(view_.strides.begin() + 1, view_.strides.end(), view_.strides.begin());
    --view_.rank;
  }
  /// Moves the last dimension to the front.
  void last_to_front() {
    std::rotate(view_.sizes.begin(), view_.sizes.begin() + ssize_t(view_.rank) - 1,
                view_.sizes.begin() + ssize_t(view_.rank));
    std::rotate(view_.strides.begin(), view_.strides.begin() + ssize_t(view_.rank) - 1,
                view_.strides.begin() + ssize_t(view_.rank));
  }
  template <typename T>
  std::vector<T> elements() const {
    const std::optional<size_t> bytes = view_.checked_bytes();
    if (!bytes) refuse("a tensor with fewer elements");
    std::vector<T> copied(*bytes / sizeof(T));
    std::array<uint8_t, kMaxRank> order;
    std::iota(order.begin(), order.end(), uint8_t(0));
    copy_dense(view_, order.data(), reinterpret_cast<uint8_t*>(copied.data()));
    return copied;
  }
  [[noreturn]] void refuse(const char* expected) const { refuse(expected, view_.describe()); }
  void expect_sizes() const {
    for (size_t i = 0; i < view_.rank; ++i) {
      if (view_.sizes[i] <= 0 || view_.sizes[i] > INT32_MAX) refuse("a tensor with elements");
    }
  }

 private:
  [[noreturn]] void refuse(const char* expected, const std::string& found) const {
    raise_error(runtime::Error::InvalidArgument,
                function_ + "(): expected " + expected + ", found " + found);
  }

  const std::string function_;
  py::object keep_alive_;
  StridedView view_;
};

bool is_channels(int32_t count) { return count == 1 || count == 3 || count == 4; }

MultimodalInput image_input(const py::object& object) {
  constexpr const char* kExpected =
      "a uint8 or float32 tensor [C, H, W], [1, C, H, W], [H, W, C] or [1, H, W, C] with 1, 3 or 4 "
      "channels";
  DenseTensor tensor(object, "make_image_input");
  if (tensor.rank() == 4 && tensor.size(0) == 1) tensor.drop_batch();
  if (tensor.rank() != 3) tensor.refuse(kExpected);
  tensor.expect_sizes();
  if (!is_channels(tensor.size(0))) {
    if (!is_channels(tensor.size(2))) tensor.refuse(kExpected);
    tensor.last_to_front();
  }
  const int32_t channels = tensor.size(0), height = tensor.size(1), width = tensor.size(2);
  if (tensor.type() == ScalarType::Byte) {
    return MultimodalInput(Image(tensor.elements<uint8_t>(), width, height, channels));
  }
  if (tensor.type() != ScalarType::Float) tensor.refuse(kExpected);
  return MultimodalInput(Image(tensor.elements<float>(), width, height, channels));
}

MultimodalInput audio_input(const py::object& object) {
  constexpr const char* kExpected = "a uint8 or float32 tensor [batch, bins, frames]";
  DenseTensor tensor(object, "make_audio_input");
  if (tensor.rank() != 3) tensor.refuse(kExpected);
  tensor.expect_sizes();
  if (tensor.type() == ScalarType::Byte) {
    return MultimodalInput(
        Audio(tensor.elements<uint8_t>(), tensor.size(0), tensor.size(1), tensor.size(2)));
  }
  if (tensor.type() != ScalarType::Float) tensor.refuse(kExpected);
  return MultimodalInput(
      Audio(tensor.elements<float>(), tensor.size(0), tensor.size(1), tensor.size(2)));
}

MultimodalInput raw_audio_input(const py::object& object) {
  constexpr const char* kExpected = "a uint8 tensor [batch, channels, samples]";
  DenseTensor tensor(object, "make_raw_audio_input");
  if (tensor.rank() != 3 || tensor.type() != ScalarType::Byte) tensor.refuse(kExpected);
  tensor.expect_sizes();
  return MultimodalInput(
      RawAudio{tensor.elements<uint8_t>(), tensor.size(0), tensor.size(1), tensor.size(2)});
}

/// A copy of the content, or None for another type.
template <typename T>
py::object copy_or_none(const T* content) {
  return content == nullptr ? py::object(py::none()) : py::cast(*content);
}

void bind_media(py::module_& module) {
  py::class_<Image>(module, "Image", py::module_local(),
                    "Pixels in the order channels, rows, columns.")
      .def(py::init<>())
      .def(py::init([](std::vector<uint8_t> data, int32_t width, int32_t height, int32_t channels) {
             return Image(std::move(data), width, height, channels);
           }),
           py::arg("data"), py::arg("width"), py::arg("height"), py::arg("channels"))
      .def(py::init([](std::vector<float> data, int32_t width, int32_t height, int32_t channels) {
             return Image(std::move(data), width, height, channels);
           }),
           py::arg("data"), py::arg("width"), py::arg("height"), py::arg("channels"))
      .def("is_uint8", &Image::is_uint8)
      .def("is_float", &Image::is_float)
      .def_property_readonly("width", &Image::width)
      .def_property_readonly("height", &Image::height)
      .def_property_readonly("channels", &Image::channels)
      .def_property_readonly("uint8_data",
                             [](const Image& image) {
                               return image.is_uint8() ? image.get_uint8_data()
                                                       : std::vector<uint8_t>();
                             })
      .def_property_readonly("float_data",
                             [](const Image& image) {
                               return image.is_float() ? image.get_float_data()
                                                       : std::vector<float>();
                             })
      .def("__repr__",
           [](const py::object& self) { return repr_of(self, {"height", "width", "channels"}); });
  py::class_<Audio>(module, "Audio", py::module_local(), "Preprocessed audio.")
      .def(py::init<>())
      .def(py::init(
               [](std::vector<uint8_t> data, int32_t batch_size, int32_t n_bins, int32_t n_frames) {
                 return Audio(std::move(data), batch_size, n_bins, n_frames);
               }),
           py::arg("data"), py::arg("batch_size"), py::arg("n_bins"), py::arg("n_frames"))
      .def(py::init(
               [](std::vector<float> data, int32_t batch_size, int32_t n_bins, int32_t n_frames) {
                 return Audio(std::move(data), batch_size, n_bins, n_frames);
               }),
           py::arg("data"), py::arg("batch_size"), py::arg("n_bins"), py::arg("n_frames"))
      .def_property_readonly("batch_size", &Audio::get_batch_size)
      .def_property_readonly("n_bins", &Audio::get_n_bins)
      .def_property_readonly("n_frames", &Audio::get_n_frames)
      .def("__repr__", [](const py::object& self) {
        return repr_of(self, {"batch_size", "n_bins", "n_frames"});
      });
  py::class_<RawAudio>(module, "RawAudio", py::module_local(), "Samples of audio.")
      .def(py::init<>())
      .def(py::init([](std::vector<uint8_t> data, int32_t batch_size, int32_t n_channels,
                       int32_t n_samples) {
             return RawAudio{std::move(data), batch_size, n_channels, n_samples};
           }),
           py::arg("data"), py::arg("batch_size"), py::arg("n_channels"), py::arg("n_samples"))
      .def_readonly("data", &RawAudio::data)
      .def_readonly("batch_size", &RawAudio::batch_size)
      .def_readonly("n_channels", &RawAudio::n_channels)
      .def_readonly("n_samples", &RawAudio::n_samples)
      .def("__repr__", [](const py::object& self) {
        return repr_of(self, {"batch_size", "n_channels", "n_samples"});
      });
}

}  // namespace

void bind_multimodal_input(py::module_& module) {
  bind_media(module);
  py::class_<MultimodalInput>(module, "MultimodalInput", py::module_local(),
                              "One part of a prompt: text, tokens, an image or audio.")
      .def(py::init<std::string>(), py::arg("text"))
      .def(py::init<Image>(), py::arg("image"))
      .def(py::init<Audio>(), py::arg("audio"))
      .def(py::init<RawAudio>(), py::arg("raw_audio"))
      .def(py::init<std::vector<uint64_t>>(), py::arg("tokens"))
      .def("is_text", &MultimodalInput::is_text)
      .def("is_tokens", &MultimodalInput::is_tokens)
      .def("is_image", &MultimodalInput::is_image)
      .def("is_audio", &MultimodalInput::is_audio)
      .def("is_raw_audio", &MultimodalInput::is_raw_audio)
      .def("get_text",
           [](const MultimodalInput& input) { return copy_or_none(input.try_get_text()); })
      .def("get_tokens",
           [](const MultimodalInput& input) { return copy_or_none(input.try_get_tokens()); })
      .def("get_image",
           [](const MultimodalInput& input) { return copy_or_none(input.try_get_image()); })
      .def("get_audio",
           [](const MultimodalInput& input) { return copy_or_none(input.try_get_audio()); })
      .def("get_raw_audio",
           [](const MultimodalInput& input) { return copy_or_none(input.try_get_raw_audio()); })
      .def("__repr__", [](const MultimodalInput& input) {
        std::string text = std::string("MultimodalInput(type=") + input.type_name();
        if (const std::string* content = input.try_get_text()) {
          const bool is_long = content->size() > 50;
          const std::string shown = is_long ? content->substr(0, 47) + "..." : *content;
          // The cut may leave a part of a character.
          const auto decoded = py::reinterpret_steal<py::str>(
              PyUnicode_DecodeUTF8(shown.data(), Py_ssize_t(shown.size()), "replace"));
          text += ", content=" + std::string(py::repr(decoded));
        }
        return text + ")";
      });
  module.def("make_text_input", &llm::make_text_input, py::arg("text"));
  module.def("make_token_input", &llm::make_token_input, py::arg("tokens"));
  module.def("make_image_input", &image_input, py::arg("image_tensor"));
  module.def("make_audio_input", &audio_input, py::arg("audio_tensor"));
  module.def("make_raw_audio_input", &raw_audio_input, py::arg("audio_tensor"));
}

}  // namespace executorch::extension::pybindings
#endif
