package nova

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// Images serves the part of the image service's API with which clients find the image of a server:
// there is one image. The path must start below the mount point (/v2/images).
func (n *Nova) Images() http.Handler {
	mux := http.NewServeMux()
	image := map[string]any{
		"id": imageID, "name": "node", "status": "active", "visibility": "public", "disk_format": "raw",
		"container_format": "bare", "size": 1 << 20, "min_disk": 1, "min_ram": 0, "protected": false, "tags": []any{},
		"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "checksum": nil, "owner": nil,
		"self": "/v2/images/" + imageID, "file": "/v2/images/" + imageID + "/file", "schema": "/v2/schemas/image",
	}
	versions := func(w http.ResponseWriter, r *http.Request) {
		wire.WriteJSON(w, http.StatusMultipleChoices, map[string]any{"versions": []any{map[string]any{
			"id": "v2.9", "status": "CURRENT", "links": []link{{Rel: "self", HRef: wire.Base(r) + "/v2/"}},
		}}})
	}
	mux.HandleFunc("GET /{$}", versions)
	mux.HandleFunc("GET /versions", versions)
	mux.HandleFunc("GET /v2/images", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]any{
			"images": []any{image}, "first": "/v2/images", "schema": "/v2/schemas/images",
		})
	})
	mux.HandleFunc("GET /v2/images/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != imageID {
			wire.WriteText(w, http.StatusNotFound, "404 Not Found\n\nNo image found with ID "+r.PathValue("id"))
			return
		}
		wire.WriteJSON(w, http.StatusOK, image)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteText(w, http.StatusNotFound, wire.NoSuchPage(""))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, wire.Rooted(r)) })
}
