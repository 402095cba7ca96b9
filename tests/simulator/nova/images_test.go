package nova_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

func TestImages_IncludeThatOfServer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	server := env.add(nova.ServerSpec{Name: "node-1"})
	_, answer, _ := env.get("/v2.1/servers/"+server.ID, "")
	id, _ := answer["server"].(map[string]any)["image"].(map[string]any)["id"].(string)
	images := env.Images()
	get := func(path string) (int, map[string]any) {
		recorded := httptest.NewRecorder()
		images.ServeHTTP(recorded, httptest.NewRequest(http.MethodGet, path, nil))
		body := map[string]any{}
		_ = json.Unmarshal(recorded.Body.Bytes(), &body) // errors are text
		return recorded.Code, body
	}
	if status, image := get("/v2/images/" + id); status != http.StatusOK || image["id"] != id {
		t.Errorf("the image answered %d %v", status, image)
	}
	if status, list := get("/v2/images"); status != http.StatusOK || len(list["images"].([]any)) != 1 {
		t.Errorf("the list answered %d %v", status, list)
	}
	for path, want := range map[string]int{"/": http.StatusMultipleChoices, "/v2/images/none": http.StatusNotFound, "/v2/none": http.StatusNotFound} {
		if status, _ := get(path); status != want {
			t.Errorf("%s answered %d, want %d", path, status, want)
		}
	}
}
