package main

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// memoryLimit returns the limit for the Go runtime (GOMEMLIMIT) in bytes, 0 for none, and the file
// of its source: nine tenths of the lowest limit of all control groups of the process, version 1 or
// 2. The rest is for memory outside of the runtime, such as the pages of the program. Root is the
// root of the file system.
func memoryLimit(root fs.FS) (limit int64, file string, err error) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, "", fmt.Errorf("read the control groups of this process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path, such as "0::/kubepods/pod1" or "5:memory:/kubepods/pod1"
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var top, name string
		switch parts[1] {
		case "":
			top, name = "sys/fs/cgroup", "memory.max"
		case "memory":
			top, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// A container sees its own group at the top, regardless of the path.
		for group := path.Join("/", parts[2]); ; group = path.Dir(group) {
			at := path.Join(top, group, name)
			if bytes := readLimit(root, at); bytes > 0 && (limit == 0 || bytes < limit) {
				limit, file = bytes, "/"+at
			}
			if group == "/" {
				break
			}
		}
	}
	return limit / 10 * 9, file, nil
}

// unlimited is the value of version 1 for no limit, or slightly less: it rounds to pages.
const unlimited = 1 << 62

func readLimit(root fs.FS, file string) int64 {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0 // a group without limit, or invisible from here
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || bytes >= unlimited {
		return 0 // "max"
	}
	return bytes
}
