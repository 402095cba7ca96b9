package main

import (
	"testing"
	"testing/fstest"
)

func TestLimit_IsNineTenthsOfWhatTheContainerMayHave(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		limit int64
		file  string
	}{
		"version 2, in a container": {
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 900, "/sys/fs/cgroup/memory.max",
		},
		"version 2, seen from the node": {
			map[string]string{"proc/self/cgroup": "0::/kubepods/pod1/c1\n", "sys/fs/cgroup/kubepods/pod1/c1/memory.max": "max\n", "sys/fs/cgroup/kubepods/pod1/memory.max": "2000\n"},
			1800, "/sys/fs/cgroup/kubepods/pod1/memory.max",
		},
		"version 2, the least of several": {
			map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "5000\n", "sys/fs/cgroup/a/memory.max": "3000\n", "sys/fs/cgroup/memory.max": "9000\n"},
			2700, "/sys/fs/cgroup/a/memory.max",
		},
		"version 2, whose path is not to be seen": {
			map[string]string{"proc/self/cgroup": "0::/kubepods/pod1\n", "sys/fs/cgroup/memory.max": "1000\n"}, 900, "/sys/fs/cgroup/memory.max",
		},
		"version 1": {
			map[string]string{"proc/self/cgroup": "7:cpu:/x\n5:memory:/docker/c1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n"}, 900, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		},
		"version 1 without a limit": {
			map[string]string{"proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, "",
		},
		"version 2 without a limit": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0, ""},
		"no control groups":         {map[string]string{"proc/self/cgroup": "nonsense\n"}, 0, ""},
	} {
		root := fstest.MapFS{}
		for file, text := range test.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		limit, file, err := memoryLimit(root)
		if err != nil || limit != test.limit || file != test.file {
			t.Errorf("%s: %d of %s, %v, want %d of %s", name, limit, file, err, test.limit, test.file)
		}
	}
	if _, _, err := memoryLimit(fstest.MapFS{}); err == nil {
		t.Error("a system without /proc is no error")
	}
}
