"""What an app says of itself when it registers, judged, and what it is answered (RFC 7591).

Only public clients: a method other than `none` is refused, none named means `none`. Metadata we do
not know is ignored, as the standard asks; the answer says what was written down.
"""

from __future__ import annotations

from authlib.oauth2.rfc7591 import (
    ClientMetadataClaims,
    InvalidClientMetadataError,
    InvalidRedirectURIError,
)
from joserfc.errors import JoseError
from pydantic import BaseModel, ConfigDict, ValidationError

from app.api.arguments import Text
from app.domain.values import Json
from app.transactions.oauth_clients import Registered

GRANT_TYPES = ("authorization_code", "refresh_token")
RESPONSE_TYPES = ("code",)
AUTH_METHOD = "none"

# What Authlib holds a client's metadata against, in the words of RFC 8414.
_SUPPORTED = {
    "grant_types_supported": list(GRANT_TYPES),
    "response_types_supported": list(RESPONSE_TYPES),
    "token_endpoint_auth_methods_supported": [AUTH_METHOD],
}


class Metadata(BaseModel):
    """What we read of a registration."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    redirect_uris: list[Text]
    client_name: Text | None = None
    token_endpoint_auth_method: Text | None = None
    grant_types: list[Text] | None = None
    response_types: list[Text] | None = None


def read(body: dict[str, Json]) -> Metadata:
    """The metadata of a body. Raises InvalidRedirectURIError or InvalidClientMetadataError."""
    try:
        asked = Metadata.model_validate(body)
    except ValidationError as wrong:
        first = wrong.errors(include_input=False, include_url=False)[0]
        field = str(first["loc"][0])
        why = "it is required" if first["type"] == "missing" else "the value cannot be used"
        raise refusal(field, f"{field}: {why}.") from None
    claims = ClientMetadataClaims(
        {"token_endpoint_auth_method": AUTH_METHOD, **asked.model_dump(exclude_none=True)},
        {},
        ClientMetadataClaims.get_claims_options(_SUPPORTED),
    )
    try:
        claims.validate()
    except JoseError as wrong:
        claim = str(getattr(wrong, "claim", None) or "client_metadata")
        raise refusal(claim, f"{claim}: the value cannot be used.") from None
    return asked


def refusal(
    field: str | None, description: str
) -> InvalidRedirectURIError | InvalidClientMetadataError:
    """The error of RFC 7591 3.2.2 for a field."""
    if field == "redirect_uris":
        return InvalidRedirectURIError(description)
    return InvalidClientMetadataError(description)


def answer(made: Registered) -> dict[str, Json]:
    """The client information response of RFC 7591 3.2.1."""
    return {
        "client_id": made.client_id,
        "client_id_issued_at": int(made.created_at.timestamp()),
        "client_name": made.client_name,
        "redirect_uris": [*made.redirect_uris],
        "grant_types": [*GRANT_TYPES],
        "response_types": [*RESPONSE_TYPES],
        "token_endpoint_auth_method": AUTH_METHOD,
    }
