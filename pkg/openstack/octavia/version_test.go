package octavia

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestNewestVersion_IgnoresExperimentalOnes(t *testing.T) {
	t.Parallel()
	const document = `{"versions":[{"id":"v1","status":"SUPPORTED"},{"id":"v2.9","status":"SUPPORTED","updated":"x","links":[]},
		{"id":"v2.10","status":"CURRENT"},{"id":"v2.11","status":"EXPERIMENTAL"},{"id":"next","status":"SUPPORTED"}]}`
	if v, err := newestVersion([]byte(document)); err != nil || v != (model.Version{Major: 2, Minor: 10}) {
		t.Errorf("%v, %v; want v2.10", v, err)
	}
	for name, document := range map[string]string{
		"no versions": `{"versions":[]}`, "another document": `{}`, "HTML": `<html>`, "strange": `{"versions":[{"id":"new","status":"CURRENT"}]}`,
	} {
		if v, err := newestVersion([]byte(document)); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}
