package neutron_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func TestTags_CanBeSetOnEveryResource(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	fip, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID})
	must(t, err)
	for collection, id := range map[string]string{
		"networks": env.inside.ID, "subnets": env.subnet.ID, "routers": env.router.ID, "ports": env.port(neutron.PortSpec{}).ID,
		"floatingips": fip.ID, "security-groups": env.group("web").ID,
	} {
		tags, err := attributestags.ReplaceAll(t.Context(), env.member(), collection, id, attributestags.ReplaceAllOpts{Tags: []string{"mine"}}).Extract()
		if err != nil || !slices.Equal(tags, []string{"mine"}) {
			t.Errorf("tags of %s are %v %v", collection, tags, err)
		}
		if _, answer := env.call(http.MethodGet, "/v2.0/"+collection+"?tags=mine&fields=id", nil); len(answer) != 1 {
			t.Errorf("%s with the tag are %v", collection, answer)
		}
		path := "/v2.0/" + collection + "/" + id + "/tags"
		env.refused(http.MethodGet, path+"/yours", nil, 404, "TagNotFound")
		env.refused(http.MethodDelete, path+"/yours", nil, 404, "TagNotFound")
		env.refused(http.MethodPut, path, map[string]any{"labels": []string{"mine"}}, 400, "InvalidInput")
		must(t, attributestags.DeleteAll(t.Context(), env.member(), collection, id).ExtractErr())
		tags, err = attributestags.List(t.Context(), env.member(), collection, id).Extract()
		if err != nil || len(tags) != 0 {
			t.Errorf("after their deletion tags of %s are %v %v", collection, tags, err)
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if status, _ := env.call(method, "/v2.0/"+collection+"/nope/tags", nil); status != http.StatusNotFound {
				t.Errorf("%s of the tags of unknown %s answered %d", method, collection, status)
			}
		}
	}
}

func TestSecurityGroups_CanBeRenamed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group, description := env.group("before"), "new"
	updated, err := groups.Update(t.Context(), env.member(), group.ID, groups.UpdateOpts{Name: "after", Description: &description}).Extract()
	if err != nil || updated.Name != "after" || updated.Description != "new" || updated.RevisionNumber != group.RevisionNumber+1 {
		t.Errorf("group is %+v %v", updated, err)
	}
	path := "/v2.0/security-groups/" + group.ID
	env.refused(http.MethodPut, path, map[string]any{"security_group": map[string]any{"security_group_rules": []any{}}}, 400, "HTTPBadRequest")
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		status, _ := env.call(method, path, map[string]any{"security_group": map[string]any{}}, "If-Match", "revision_number=99")
		if status != http.StatusPreconditionFailed {
			t.Errorf("%s of another revision answered %d", method, status)
		}
	}
}

func TestPorts_NameTheirAddressesByDNSName(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{DNSDomain: "cloud.test."})
	port := env.port(neutron.PortSpec{SubnetID: env.subnet.ID, Address: "10.6.0.50"})
	name := func(method string, body any) any {
		_, answer := env.call(method, "/v2.0/ports/"+port.ID, body)
		return answer["port"].(map[string]any)["dns_assignment"].([]any)[0].(map[string]any)["fqdn"]
	}
	if got := name(http.MethodGet, nil); got != "host-10-6-0-50.cloud.test." {
		t.Errorf("name is %v", got)
	}
	if got := name(http.MethodPut, map[string]any{"port": map[string]any{"dns_name": "vip", "security_groups": nil}}); got != "vip.cloud.test." {
		t.Errorf("name is %v", got)
	}
	if after, err := env.Port(port.ID); err != nil || len(after.SecurityGroups) != 0 {
		t.Errorf("null left the security groups %v %v", after.SecurityGroups, err)
	}
}
