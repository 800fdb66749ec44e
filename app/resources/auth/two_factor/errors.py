"""Errors of the second factor, with the codes of better-auth."""

from app.core.errors import AppError, ErrorMessage, InvalidRequest, NotAuthenticated, TooManyRequests


class InvalidFactorCode(AppError):
    """The code is wrong, expired or used (401). A session continues."""

    status, code, message = 401, "INVALID_CODE", ErrorMessage("The code is wrong or was used. Enter the present code")


class InvalidBackupCode(AppError):
    """The backup code is wrong or used (401). A session continues."""

    status, code, message = 401, "INVALID_BACKUP_CODE", ErrorMessage("The backup code is wrong or was used")


class InvalidChallenge(NotAuthenticated):
    """The request has neither a session nor a sign-in that waits for the second factor (401)."""

    code, message = "INVALID_TWO_FACTOR_COOKIE", ErrorMessage("The sign-in has expired. Start again")


class SecondFactorLocked(TooManyRequests):
    """Too many codes were wrong (429)."""

    code, message = "ACCOUNT_TEMPORARILY_LOCKED", ErrorMessage("Too many wrong codes. Try again later")


class SecondFactorNotEnabled(InvalidRequest):
    """The user has no second factor (400)."""

    code, message = "TWO_FACTOR_NOT_ENABLED", ErrorMessage("The account has no second factor")


class AppNotEnabled(InvalidRequest):
    """The user has no secret of an authenticator app (400)."""

    code, message = "TOTP_NOT_ENABLED", ErrorMessage("The account has no authenticator app")


class AppAlreadyEnabled(InvalidRequest):
    """The user has an authenticator app (400)."""

    code, message = "TOTP_ALREADY_ENABLED", ErrorMessage("The account has an authenticator app. Turn it off first")


class MailNotEnabled(InvalidRequest):
    """The user has not chosen codes by mail (400)."""

    code, message = "OTP_NOT_ENABLED", ErrorMessage("Codes by mail are not enabled for this account")
