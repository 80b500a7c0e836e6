# One file, one image for each program: `docker build --target worker .`, `starter`, `sandbox`.

FROM rust:1.94-bookworm AS build
WORKDIR /src
# Named one by one, so that nothing that a developer keeps beside the sources comes in.
COPY Cargo.toml Cargo.lock ./
COPY activities activities
COPY bench bench
COPY channels channels
COPY dev dev
COPY domain domain
COPY sandbox sandbox
COPY starter starter
COPY store store
COPY tests tests
COPY worker worker
COPY workflows workflows
# Queries are checked against store/.sqlx: no build reaches for a database.
ENV SQLX_OFFLINE=true
RUN cargo build --locked --release --package worker --package starter --package sandbox \
    && strip target/release/worker target/release/oncepay target/release/sandbox

# Debian's slim image and not one without a shell: bash asks for readiness, sh runs two commands.
FROM debian:bookworm-slim AS runtime
# Without certificates no HTTP client can be made. A new volume takes its folder's owner.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 65532 --user-group --no-create-home --shell /usr/sbin/nologin oncepay \
    && install -d -o oncepay -g oncepay /var/lib/oncepay
# `answers PORT PATH`: whether the program in this container answers 200.
RUN printf '%s\n' '#!/bin/bash' \
        'exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1' \
        'printf "GET $2 HTTP/1.0\r\n\r\n" >&3' \
        'read -r line <&3 && [[ $line == *" 200 "* ]]' \
        > /usr/local/bin/answers \
    && chmod 755 /usr/local/bin/answers
USER 65532:65532
WORKDIR /var/lib/oncepay

FROM runtime AS worker
COPY --from=build /src/target/release/worker /usr/local/bin/worker
EXPOSE 8081
ENTRYPOINT ["/usr/local/bin/worker"]

FROM runtime AS starter
COPY --from=build /src/target/release/oncepay /usr/local/bin/oncepay
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/oncepay"]
CMD ["serve"]

# A payment channel for tests and demonstrations. It never belongs in production.
FROM runtime AS sandbox
COPY --from=build /src/target/release/sandbox /usr/local/bin/sandbox
EXPOSE 8090 8091
ENTRYPOINT ["/usr/local/bin/sandbox"]
