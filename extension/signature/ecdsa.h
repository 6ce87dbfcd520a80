// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string_view>

#include <executorch/runtime/core/error.h>

namespace executorch::extension::signature {

/// Ok if `signature` (ECDSA in ASN.1 DER, with SHA-256, -384 or -512 for keys of 256, 384 or 521
/// bits) is of `message`, by the private key of `public_key`, a PEM text. OpenSSL's libcrypto,
/// taken from the system when this is called, verifies it.
/// @retval Error::InvalidExternalData Another key made the signature, or it is of another message.
/// @retval Error::InvalidArgument The text holds no key on such a curve.
/// @retval Error::NotSupported The system has no libcrypto of version 1.1 or 3.
runtime::Error verify_ecdsa(std::string_view public_key, std::string_view message,
                            std::string_view signature);

}  // namespace executorch::extension::signature
