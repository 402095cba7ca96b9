package simulator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// TestRestore_ShowsWhatWasRecorded restores the state of a real cloud, and compares the lists of
// the simulator with that state.
func TestRestore_ShowsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "pkg", "loadbalancer", "testdata", "peer-state", "openstack.json"))
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := simulator.Start(simulator.Options{Release: "zed"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	if err := cloud.Restore(text); err != nil {
		t.Fatal(err)
	}
	provider, err := openstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: cloud.AuthURL(), Username: cloud.Account.UserName, Password: cloud.Account.Password,
		TenantName: cloud.Account.ProjectName, DomainName: "Default",
	})
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]json.RawMessage
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	for collection, root := range map[string]string{
		"loadbalancers": "/load-balancer/v2.0/lbaas/", "listeners": "/load-balancer/v2.0/lbaas/", "pools": "/load-balancer/v2.0/lbaas/",
		"healthmonitors": "/load-balancer/v2.0/lbaas/", "floatingips": "/network/v2.0/", "security_groups": "/network/v2.0/",
		"subnets": "/network/v2.0/",
	} {
		answer := map[string][]map[string]any{}
		address := cloud.URL() + root + strings.ReplaceAll(collection, "_", "-")
		if _, err := provider.Request(t.Context(), http.MethodGet, address, &gophercloud.RequestOpts{JSONResponse: &answer, OkCodes: []int{http.StatusOK}}); err != nil {
			t.Fatal(err)
		}
		var want []map[string]any
		exact := json.NewDecoder(bytes.NewReader(recorded[collection]))
		exact.UseNumber() // as gophercloud reads answers
		if err := exact.Decode(&want); err != nil {
			t.Fatal(err)
		}
		shown := byID(answer[collection])
		for id, object := range byID(want) {
			if diff := cmp.Diff(object, shown[id]); diff != "" {
				t.Errorf("%s %s (-recorded +shown): %s", collection, id, diff)
			}
		}
	}
}

// byID sorts objects by ID, and removes the project and keys that are no attributes.
func byID(objects []map[string]any) map[string]map[string]any {
	sorted := map[string]map[string]any{}
	for _, object := range objects {
		id, _ := object["id"].(string)
		for _, project := range []string{"project_id", "tenant_id"} {
			delete(object, project)
		}
		for _, list := range []string{"listeners", "pools", "members"} { // their order is arbitrary
			if parts, is := object[list].([]any); is {
				ids := map[any]bool{}
				for _, part := range parts {
					reference, _ := part.(map[string]any)
					ids[reference["id"]] = true
				}
				object[list] = ids
			}
		}
		if rules, is := object["security_group_rules"].([]any); is {
			object["security_group_rules"] = len(rules)
		}
		sorted[id] = object
	}
	return sorted
}
