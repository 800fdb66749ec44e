"""The job that mails a review link. The address is decrypted when it is sent, so that no job contains it."""

from babel.dates import format_date

from app.core.jobs import PermanentFailure, job
from app.drivers.errors import UpstreamRejected
from app.drivers.mail.port import MailTransport
from app.extensions import db
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.models.review_link import ReviewLink
from app.models.user import User
from app.resources.review_link.actions import MAIL
from app.resources.review_link.queries import address_of
from app.resources.system.jobs import MAIL_RETRIES, deliver
from app.resources.user.mail import language_of


@job(MAIL, retries=MAIL_RETRIES, uses=("mail",), priority=5)
def mail_link(*, link_id: str, to: str, mail: MailTransport) -> None:
    """Mail a link in the language of its sender. Answers go to the sender. A link that has ended is not mailed.

    The address is not verified, so the mail contains the names of sender and project and no other text of a user.

    Raises:
        PermanentFailure: the address is rejected.
    """
    link = db.session.get(ReviewLink, link_id)
    sender = db.session.get(User, link.user_id) if link is not None and link.user_id is not None else None
    if link is None or sender is None or not link.is_active:
        return
    project = db.session.get_one(Project, db.session.get_one(ChangeSet, link.change_set_id).project_id)
    url = address_of(link)
    values = {"sender": sender.name, "project": project.name, "link": url}
    language = language_of(sender)
    values["day"] = format_date(link.expires_at, "long", locale=language)
    try:
        deliver(mail, to, "review_link", language, reply_to=sender.email, **values)
    except UpstreamRejected as error:
        raise PermanentFailure(str(error)) from error
