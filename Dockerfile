# The image holds one static binary and the certificate authorities, nothing else.
#   docker build --build-arg VERSION=v1.2.3 --tag openstack-cloud-controller-manager:v1.2.3 .
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd/openstack-cloud-controller-manager cmd/openstack-cloud-controller-manager
COPY pkg pkg
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
    -ldflags "-s -w -X main.version=$VERSION" \
    -o /openstack-cloud-controller-manager ./cmd/openstack-cloud-controller-manager

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /openstack-cloud-controller-manager /openstack-cloud-controller-manager
USER 65532:65532
ENTRYPOINT ["/openstack-cloud-controller-manager"]
