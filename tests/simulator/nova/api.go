package nova

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// call is one request with its caller and microversion 2.minor.
type call struct {
	*http.Request
	caller keystone.Caller
	minor  int
}

type link struct {
	HRef string `json:"href"`
	Rel  string `json:"rel"`
}

// fault is an answer in Nova's error form: the kind names the object.
type fault struct {
	status  int
	kind    string
	message string
}

// Error implements error.
func (f *fault) Error() string { return fmt.Sprintf("%d %s: %s", f.status, f.kind, f.message) }

func itemNotFound(format string, args ...any) *fault {
	return &fault{status: http.StatusNotFound, kind: "itemNotFound", message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, kind: "badRequest", message: fmt.Sprintf(format, args...)}
}

func computeFault(status int, format string, args ...any) *fault {
	return &fault{status: status, kind: "computeFault", message: fmt.Sprintf(format, args...)}
}

// forbidden is a refusal of Nova's policy engine.
func forbidden(rule string) *fault {
	return &fault{
		status: http.StatusForbidden, kind: "forbidden",
		message: fmt.Sprintf("Policy doesn't allow %s to be performed.", rule),
	}
}

func writeFault(w http.ResponseWriter, refusal *fault) {
	wire.WriteCharsetJSON(w, refusal.status, map[string]any{
		refusal.kind: map[string]any{"code": refusal.status, "message": refusal.message},
	})
}

func (n *Nova) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(*call) (int, any, error)) { mux.Handle(pattern, n.handle(h)) }
	mux.HandleFunc("GET /{$}", n.showVersions)
	mux.HandleFunc("GET /v2.1", n.showVersion)
	mux.HandleFunc("GET /v2.1/{$}", n.showVersion)
	handle("GET /v2.1/servers", func(c *call) (int, any, error) { return n.listServers(c, false) })
	handle("GET /v2.1/servers/detail", func(c *call) (int, any, error) { return n.listServers(c, true) })
	handle("GET /v2.1/servers/{id}", n.showServer)
	handle("DELETE /v2.1/servers/{id}", n.removeServer)
	handle("GET /v2.1/servers/{id}/os-interface", n.listInterfaces)
	handle("GET /v2.1/servers/{id}/ips", n.listAddresses)
	handle("GET /v2.1/servers/{id}/metadata", n.showMetadata)
	handle("GET /v2.1/servers/{id}/tags", n.showTags)
	handle("GET /v2.1/servers/{id}/os-security-groups", n.listServerGroups)
	handle("GET /v2.1/servers/{id}/os-volume_attachments", n.listVolumes)
	handle("GET /v2.1/flavors", func(c *call) (int, any, error) { return n.listFlavors(c, false) })
	handle("GET /v2.1/flavors/detail", func(c *call) (int, any, error) { return n.listFlavors(c, true) })
	handle("GET /v2.1/flavors/{id}", n.showFlavor)
	handle("GET /v2.1/flavors/{id}/os-extra_specs", n.showExtraSpecs)
	handle("GET /v2.1/limits", n.showLimits)
	handle("GET /v2.1/os-quota-sets/{project}", n.showQuotas)
	handle("GET /v2.1/os-availability-zone", n.listZones)
	handle("GET /v2.1/os-availability-zone/detail", func(*call) (int, any, error) {
		return 0, nil, forbidden("os_compute_api:os-availability-zone:detail")
	})
	handle("GET /v2.1/os-keypairs", empty("keypairs"))
	handle("GET /v2.1/os-server-groups", empty("server_groups"))
	handle("GET /v2.1/os-hypervisors", func(*call) (int, any, error) {
		return 0, nil, forbidden("os_compute_api:os-hypervisors:list")
	})
	handle("GET /v2.1/extensions/{alias}", func(*call) (int, any, error) {
		return 0, nil, itemNotFound("The resource could not be found.")
	})
	mux.HandleFunc("/v2.1/", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteText(w, http.StatusNotFound, wire.NoSuchPage(""))
	})
	mux.HandleFunc("/", n.chooseVersion)
	return mux
}

func empty(collection string) func(*call) (int, any, error) {
	return func(*call) (int, any, error) { return http.StatusOK, map[string]any{collection: []any{}}, nil }
}

// handle negotiates the microversion and turns a handler into one for HTTP.
func (n *Nova) handle(h func(*call) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		minor, refusal := n.microversion(r.Header)
		if refusal != nil {
			writeFault(w, refusal)
			return
		}
		version := fmt.Sprintf("2.%d", minor)
		w.Header().Set("OpenStack-API-Version", "compute "+version)
		w.Header().Set("X-OpenStack-Nova-API-Version", version)
		w.Header().Add("Vary", "OpenStack-API-Version")
		w.Header().Add("Vary", "X-OpenStack-Nova-API-Version")
		status, body, err := h(&call{Request: r, caller: keystone.CallerFrom(r.Context()), minor: minor})
		if err != nil {
			unexpected := computeFault(http.StatusInternalServerError, "Unexpected API Error.")
			errors.As(err, &unexpected)
			writeFault(w, unexpected)
			return
		}
		if body == nil {
			wire.WriteBody(w, status, nil)
			return
		}
		wire.WriteJSON(w, status, body)
	}
}

// microversion returns the requested minor number from the current or the old header; 1 without
// either.
func (n *Nova) microversion(header http.Header) (int, *fault) {
	asked := header.Get("X-OpenStack-Nova-API-Version")
	for _, value := range header.Values("OpenStack-API-Version") {
		if version, ok := strings.CutPrefix(strings.ToLower(value), "compute "); ok {
			asked = version
		}
	}
	switch strings.ToLower(asked) {
	case "":
		return 1, nil
	case "latest":
		return n.options.MaxMicroversion, nil
	}
	major, text, _ := strings.Cut(strings.TrimSpace(asked), ".")
	minor, err := strconv.Atoi(text)
	if _, majorErr := strconv.Atoi(major); err != nil || majorErr != nil {
		return 0, badRequest("API Version String %s is of invalid format. Must be of format MajorNum.MinorNum.", asked)
	}
	if major != "2" || minor < 1 || minor > n.options.MaxMicroversion {
		return 0, computeFault(http.StatusNotAcceptable, "Version %s is not supported by the API. Minimum is 2.1 and maximum is 2.%d.", asked, n.options.MaxMicroversion)
	}
	return minor, nil
}
