# The image holds one static binary, its licenses and the certificate authorities, nothing else.
#   docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT=$(git rev-parse HEAD) \
#       --tag openstack-cloud-controller-manager:v1.2.3 .
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY LICENSE ./
COPY tests/checks/release/licenses tests/checks/release/licenses
COPY cmd/openstack-cloud-controller-manager cmd/openstack-cloud-controller-manager
COPY pkg pkg
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags=grpcnotrace \
    -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" \
    -o /openstack-cloud-controller-manager ./cmd/openstack-cloud-controller-manager
RUN go run ./tests/checks/release/licenses/cmd/licenses "$TARGETOS/$TARGETARCH" >THIRD_PARTY_LICENSES.txt

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE /src/THIRD_PARTY_LICENSES.txt /licenses/
# The path is the one that the commands and args of installations of
# cloud-provider-openstack name. A first argument that repeats it is left out.
COPY --from=build /openstack-cloud-controller-manager /bin/openstack-cloud-controller-manager
ENTRYPOINT ["/bin/openstack-cloud-controller-manager"]
# There is no USER, as in the image of cloud-provider-openstack: installations that
# name none mount files of the host that only root may read. manifests/static runs it
# as an ordinary user, without any capability.
