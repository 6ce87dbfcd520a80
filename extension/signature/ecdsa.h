// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string_view>

#include <executorch/runtime/core/error.h>

namespace executorch::extension::signature {

/// Verifies that `signature` (ECDSA in ASN.1 DER, with SHA-256, -384 or -512 for keys of 256, 384
/// or 521 bits) signs `message` with the private key of `public_key`, a PEM text. Loads OpenSSL's
/// libcrypto from the system.
/// @retval Error::InvalidExternalData The signature belongs to another key or message.
/// @retval Error::InvalidArgument The text does not contain a key on such a curve.
/// @retval Error::NotSupported The system lacks libcrypto of version 1.1 or 3.
runtime::Error verify_ecdsa(std::string_view public_key, std::string_view message,
                            std::string_view signature);

}  // namespace executorch::extension::signature
