# SPDX-License-Identifier: MIT
#
# An image with the programs and the Python package:
#
#   docker build -t quern .
#   docker run --rm -v "$PWD:/work" quern check model.onnx --backend htp --soc SM8650
#
# The first stage builds the Debian package, the second installs it and nothing else.
FROM debian:12-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make python3
COPY . /src
WORKDIR /src
RUN QUERN_YES=1 make deb

FROM debian:12-slim
COPY --from=build /src/dist/*.deb /tmp/
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/*.deb python3-minimal \
    && rm -rf /var/lib/apt/lists/* /tmp/*.deb
WORKDIR /work
ENTRYPOINT ["quern"]
CMD ["--help"]
