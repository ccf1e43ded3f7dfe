"""What an attempt has had of its model's API, as the gateway tells it."""

import logging
import urllib.request

from pydantic import ValidationError

from ..models.api_access import ApiAccess
from ..models.api_call import ApiUse

USE_PATH = "/infranoise/api"
ANSWERS_WITHIN_S = 10.0
log = logging.getLogger(__name__)
# The gateway is ours and near: a proxy of the environment has no part in it.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def api_use(access: ApiAccess) -> ApiUse | None:
    """What the gateway saw until now; None where it cannot be asked."""
    request = urllib.request.Request(
        access.url + USE_PATH, headers={"authorization": f"Bearer {access.token}"}
    )
    try:
        with OPENER.open(request, timeout=ANSWERS_WITHIN_S) as answer:
            return ApiUse.model_validate_json(answer.read())
    except (OSError, ValidationError) as error:
        log.warning("the gateway at %s does not tell of an attempt: %s", access.url, error)
        return None
