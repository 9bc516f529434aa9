"""The page on which people sign in, the way to a provider and back, and signing out."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model, login, logout
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from inspector.base_path import base_path
from inspector.cache_headers import exact
from inspector.installation import program
from inspector.masked_answers import own_content
from inspector.middleware import OperatorRequest, accepts, writes
from inspector.presentation.visible import visible
from inspector.sign_in import accounts, provider, proxy_header, throttle
from inspector.sign_in.accounts import NotLetIn
from inspector.sign_in.client_address import client_address

BACKEND = "django.contrib.auth.backends.ModelBackend"
NO_PASSWORDS = "Nobody signs in with a password here: use the provider."
ID_TOKEN = "id_token"  # noqa: S105
"""In the session: the hint by which the provider knows whom to sign out."""


class SignIn(LoginView):
    """With a password, after a wait where attempts failed."""

    template_name = "login.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated and proxy_header.is_on() and not settings.INSPECTOR_LOCAL:
            return redirect("inbox")
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        others = {"program": program(), "passwords": settings.INSPECTOR_PASSWORDS, "provider": provider.host() if provider.is_on() else ""}
        others["is_first"] = not get_user_model()._default_manager.filter(is_active=True).exists()
        others["password_is_set"] = self.request.GET.get("password") == "set"
        others["is_signed_out"] = self.request.GET.get("signed") == "out"
        return {**super().get_context_data(**kwargs), **others}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.INSPECTOR_PASSWORDS:
            return _again(request, NotLetIn(NO_PASSWORDS))
        attempt = throttle.begin(request.POST.get("username", ""), client_address(request))
        if attempt.wait:
            return _again(request, NotLetIn(throttle.sentence(attempt.wait), 429, attempt.wait))
        form = self.get_form()
        if form.is_valid():
            throttle.succeeded(attempt)
            return self.form_valid(form)
        throttle.failed(attempt)
        return self.form_invalid(form)


sign_in = accepts("GET", "HEAD", "POST")(sensitive_post_parameters("password")(SignIn.as_view()))


def _again(request: HttpRequest, refused: NotLetIn) -> HttpResponse:
    """The page again, with the sentence."""
    view = SignIn()
    view.setup(request)
    form = view.form_class(request)
    context = view.get_context_data(form=form, problem=visible(refused.sentence), name=request.POST.get("username", ""))
    answer = render(request, "login.html", context, status=refused.status)
    if refused.wait:
        answer["Retry-After"] = str(refused.wait)
    return answer


@writes
def provider_begin(request: HttpRequest) -> HttpResponse:
    """Leads to the provider, and remembers in the browser what it has to bring back."""
    if not provider.is_on():
        return redirect("login")
    try:
        address, remembered = provider.begin(request.GET.get("next", ""))
    except NotLetIn as refused:
        return _again(request, refused)
    answer = HttpResponseRedirect(address)
    # Lax: the way back is a link from the provider's page.
    answer.set_cookie(
        provider.COOKIE, remembered, max_age=provider.MINUTES * 60, path=_cookie_path(), httponly=True, samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )  # fmt: skip
    # The state in it is for this browser, and is no secret of a conversation.
    return exact(own_content(answer))


def _cookie_path() -> str:
    return f"{base_path(settings.INSPECTOR_BASE_URL)}/login/"


@writes
def provider_done(request: HttpRequest) -> HttpResponse:
    """Signs in whom the provider leads back here."""
    if not provider.is_on():
        return redirect("login")
    try:
        person = provider.finish(request.GET.dict(), request.COOKIES.get(provider.COOKIE, ""))
        user = accounts.of_provider(person.issuer, person.subject, person.name, person.groups)
    except NotLetIn as refused:
        answer = _again(request, refused)
    else:
        request.signed_in_by = "provider"  # type: ignore[attr-defined]
        login(request, user, backend=BACKEND)
        request.session[ID_TOKEN] = person.id_token
        answer = HttpResponseRedirect(person.next)
    answer.delete_cookie(provider.COOKIE, path=_cookie_path(), samesite="Lax")
    return exact(answer)


@accepts("POST")
def sign_out(request: OperatorRequest) -> HttpResponse:
    """Here; and, where the provider offers it, a link by which one signs out there, too. A form may not lead to another host (form-action)."""
    hint, by_provider = request.session.get(ID_TOKEN, ""), request.session.get("by") == "provider"
    logout(request)
    address = provider.sign_out_address(hint) if by_provider and provider.is_on() else ""
    if not address:
        return redirect(f"{reverse('login')}?signed=out")
    return exact(own_content(render(request, "left.html", {"address": address, "provider": provider.host()})))
