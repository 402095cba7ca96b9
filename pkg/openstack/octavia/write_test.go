package octavia_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/fakecloud"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
)

// Octavia answers 500 to members that are null.
func TestSetMembers_SendsEmptyListForNoMembers(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "{}")
	}
	client := simulated.SignIn(t, &config.Config{Global: cloud.Config()}, openstack.SessionOptions{}).Octavia()
	if err := client.SetMembers(context.Background(), "p1", nil, false); err != nil {
		t.Fatal(err)
	}
	if body := cloud.Requests()[0].Body; body != `{"members":[]}` {
		t.Errorf("sent %s", body)
	}
}
