package main

import (
	"testing"
	"testing/fstest"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// FuzzLimit writes any text into the files of the control groups.
func FuzzLimit(f *testing.F) {
	f.Add("0::/kubepods/pod1\n", "536870912\n", "")
	f.Add("5:memory:/kubepods/pod1\n1:name=systemd:/\n", "", "9223372036854771712")
	f.Add("0::/../../..\n::\n0::\n:memory:a//b", "max", "-1")
	f.Add("0::/a", "9223372036854775808", "1")
	f.Fuzz(func(t *testing.T, groups, v2, v1 string) {
		if len(groups) > 4<<10 {
			return // Linux has no longer paths
		}
		root := fstest.MapFS{
			"proc/self/cgroup":                           {Data: []byte(groups)},
			"sys/fs/cgroup/memory.max":                   {Data: []byte(v2)},
			"sys/fs/cgroup/memory/memory.limit_in_bytes": {Data: []byte(v1)},
		}
		hostile.Bounded(t, len(groups)*1000+len(v1)+len(v2), func() {
			limit, file, err := memoryLimit(root)
			if limit < 0 || limit > 1<<62 || (limit > 0) && file == "" || err != nil {
				t.Errorf("limit %d of %q, %v", limit, file, err)
			}
		})
	})
}
