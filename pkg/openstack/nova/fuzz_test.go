package nova

import (
	"context"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// FuzzAnswer has Nova answer anything to every kind of request.
func FuzzAnswer(f *testing.F) {
	for n, body := range []string{
		`{"server": {"id": "s", "addresses": {"net": [{"addr": "192.0.2.1", "OS-EXT-IPS:type": "floating"}]}, "flavor": {"original_name": "m1"}}}`,
		`{"server": {"id": "s", "addresses": {"net": {"addr": 7}}}}`, `{"server": {"id": "s", "addresses": []}}`, `{"server": {"id": "s", "metadata": {"hostname": "\n"}, "flavor": {"id": "f\u001b[2J"}}, "flavor": {"name": "x"}}`,
		`{"servers": [{"id": "1"}], "servers_links": [{"rel": "next"}]}` + "\n---\n" + `{"servers": [{"id": "2"}], "servers_links": [{"rel": "next"}]}`,
		`{"servers": [{"id": "s", "name": "name", "flavor": {"id": "f"}}]}`, `{"itemNotFound": {"code": 404, "message": "a\nb"}}`, `{"server": {"addresses": null}}`, "\xff",
	} {
		for which := range 3 {
			f.Add(which, 200, []byte(body))
		}
		f.Add(n, []int{404, 406, 500}[n%3], []byte(body))
	}
	f.Fuzz(func(t *testing.T, which, status int, answer []byte) {
		cloud := hostile.NewCloud(t, 200+max(0, status)%400, answer)
		c := New(cloud)
		all := []func(context.Context) error{
			func(ctx context.Context) error {
				server, err := c.GetServer(ctx, "s")
				if err == nil && server.ID == "" {
					t.Error("a server without an ID")
				}
				return err
			},
			func(ctx context.Context) error { _, err := c.FlavorID(ctx, "s"); return err },
			func(ctx context.Context) error { _, err := c.ServersByName(ctx, "name"); return err },
		}
		cloud.Try(all[max(0, which)%len(all)])
	})
}
