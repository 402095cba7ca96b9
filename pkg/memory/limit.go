// Package memory keeps the process small: within the memory of its container, and at rest
// within what it needs then.
package memory

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Of the memory of the container, the Go runtime may have this part: the rest is for what
// it does not count, such as the pages of the program itself.
const (
	numerator   = 9
	denominator = 10
)

// Limit returns the limit for the Go runtime (GOMEMLIMIT), in bytes, and the file that says how
// much memory the process may have: the least of all control groups, version 1 or 2, that it
// is in. Root is the root of the file system. Where nothing limits the memory, the limit is 0.
func Limit(root fs.FS) (limit int64, file string, err error) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, "", fmt.Errorf("read the control groups of this process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path, as in "0::/kubepods/pod1" or "5:memory:/kubepods/pod1"
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
		// A container sees its own group at the top, whatever the path says.
		for group := path.Join("/", parts[2]); ; group = path.Dir(group) {
			at := path.Join(top, group, name)
			if bytes := read(root, at); bytes > 0 && (limit == 0 || bytes < limit) {
				limit, file = bytes, "/"+at
			}
			if group == "/" {
				break
			}
		}
	}
	return limit / denominator * numerator, file, nil
}

// unlimited is what version 1 says where there is no limit, or a little less: it rounds to
// pages.
const unlimited = 1 << 62

// read returns the limit in a file, 0 for none.
func read(root fs.FS, file string) int64 {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0 // a group that has no limit, or is not to be seen from here
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || bytes >= unlimited {
		return 0 // "max"
	}
	return bytes
}
