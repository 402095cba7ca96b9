package nova

import (
	"fmt"
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// showVersions lists all versions, including the old one, which is not served.
func (n *Nova) showVersions(w http.ResponseWriter, r *http.Request) {
	wire.WriteJSON(w, http.StatusOK, map[string]any{"versions": []any{
		map[string]any{
			"id": "v2.0", "status": "SUPPORTED", "version": "", "min_version": "", "updated": "2011-01-21T11:33:21Z",
			"links": []link{{Rel: "self", HRef: wire.Base(r) + "/v2/"}},
		},
		n.versionBody(r),
	}})
}

func (n *Nova) showVersion(w http.ResponseWriter, r *http.Request) {
	version := n.versionBody(r)
	version["links"] = []any{
		link{Rel: "self", HRef: wire.Base(r) + "/v2.1/"},
		map[string]string{"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"},
	}
	version["media-types"] = mediaTypes("2.1")
	wire.WriteJSON(w, http.StatusOK, map[string]any{"version": version})
}

func (n *Nova) versionBody(r *http.Request) map[string]any {
	return map[string]any{
		"id": "v2.1", "status": "CURRENT", "version": fmt.Sprintf("2.%d", n.options.MaxMicroversion),
		"min_version": "2.1", "updated": "2013-07-23T11:33:21Z",
		"links": []link{{Rel: "self", HRef: wire.Base(r) + "/v2.1/"}},
	}
}

// chooseVersion lists the versions to a client that names none.
func (n *Nova) chooseVersion(w http.ResponseWriter, r *http.Request) {
	choice := func(id, status, path, version string) map[string]any {
		return map[string]any{
			"id": id, "status": status, "media-types": mediaTypes(version),
			"links": []link{{Rel: "self", HRef: wire.Base(r) + path + r.URL.Path}},
		}
	}
	wire.WriteJSON(w, http.StatusMultipleChoices, map[string]any{"choices": []any{
		choice("v2.0", "SUPPORTED", "/v2", "2"), choice("v2.1", "CURRENT", "/v2.1", "2.1"),
	}})
}

func mediaTypes(version string) []map[string]string {
	return []map[string]string{{
		"base": "application/json", "type": "application/vnd.openstack.compute+json;version=" + version,
	}}
}
