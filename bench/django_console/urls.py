"""URL routes."""

from django.urls import path

from bench.django_console import views

urlpatterns = [path("api/", views.api), path("auth/login/", views.login_view)]
