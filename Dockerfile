# syntax=docker/dockerfile:1
# A worker's (or client's) image. EXTRAS chooses what it can run, e.g. --build-arg EXTRAS=redis,crewai.

FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
ARG EXTRAS=all
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[${EXTRAS}]" \
    && rm -r /wheels \
    && useradd --create-home batonpass
USER batonpass
WORKDIR /home/batonpass
ENV PYTHONUNBUFFERED=1
# As process 1 a command that only reads has no SIGTERM. Ctrl-C ends every command, and a worker as SIGTERM does.
STOPSIGNAL SIGINT
ENTRYPOINT ["batonpass"]
CMD ["--help"]
