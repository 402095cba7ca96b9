package nova

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/internal/wire"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/keystone"
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

func writeFault(w http.ResponseWriter, refusal *fault) {
	wire.WriteJSON(w, refusal.status, map[string]any{
		refusal.kind: map[string]any{"code": refusal.status, "message": refusal.message},
	})
}

func (n *Nova) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(*call) (int, any, error)) { mux.Handle(pattern, n.handle(h)) }
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]any{"versions": []any{n.versionBody(r)}})
	})
	version := func(w http.ResponseWriter, r *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]any{"version": n.versionBody(r)})
	}
	mux.HandleFunc("GET /v2.1", version)
	mux.HandleFunc("GET /v2.1/{$}", version)
	handle("GET /v2.1/servers", func(c *call) (int, any, error) { return n.listServers(c, false) })
	handle("GET /v2.1/servers/detail", func(c *call) (int, any, error) { return n.listServers(c, true) })
	handle("GET /v2.1/servers/{id}", n.showServer)
	handle("GET /v2.1/servers/{id}/os-interface", n.listInterfaces)
	handle("GET /v2.1/flavors", n.listFlavors)
	handle("GET /v2.1/flavors/{id}", n.showFlavor)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeFault(w, itemNotFound("The resource could not be found."))
	})
	return mux
}

func (n *Nova) versionBody(r *http.Request) map[string]any {
	return map[string]any{
		"id": "v2.1", "status": "CURRENT", "version": fmt.Sprintf("2.%d", n.options.MaxMicroversion),
		"min_version": "2.1", "updated": "2013-07-23T11:33:21Z",
		"links": []link{{Rel: "self", HRef: wire.Base(r) + "/v2.1/"}},
	}
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
		wire.WriteJSON(w, status, body)
	}
}

// microversion reads the minor number that a request asks for, in the current
// or the old header; 1 without either.
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
		return 0, badRequest("API Version String '%s' is of invalid format. Must be of format MajorNum.MinorNum.", asked)
	}
	if major != "2" || minor < 1 || minor > n.options.MaxMicroversion {
		return 0, computeFault(http.StatusNotAcceptable, "Version %s is not supported by the API. Minimum is 2.1 and maximum is 2.%d.", asked, n.options.MaxMicroversion)
	}
	return minor, nil
}
