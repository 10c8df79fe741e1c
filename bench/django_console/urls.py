"""The two paths of the three steps."""

from django.urls import path

from bench.django_console import views

urlpatterns = [path("api/", views.api), path("auth/login/", views.log_in)]
