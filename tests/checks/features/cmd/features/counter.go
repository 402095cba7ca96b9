package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// counter writes the number of finished packages before the last line of each. A call of Write has
// whole lines.
type counter struct {
	to           io.Writer
	ended, total int
}

func (c *counter) Write(p []byte) (int, error) {
	for _, ending := range []string{"ok  \t", "FAIL\t", "?   \t"} {
		if bytes.HasPrefix(p, []byte(ending)) {
			c.ended++
			if _, err := fmt.Fprintf(c.to, "[%*d/%d] ", len(fmt.Sprint(c.total)), c.ended, c.total); err != nil {
				return 0, err
			}
		}
	}
	return c.to.Write(p)
}

// countPackages returns the number of packages that the arguments of go test name.
func countPackages(ctx context.Context, args []string) (int, error) {
	list := []string{"list"}
	for _, arg := range args {
		if strings.HasPrefix(arg, "./") {
			list = append(list, arg)
		}
	}
	packages, err := exec.CommandContext(ctx, "go", list...).Output()
	if err != nil {
		return 0, fmt.Errorf("list the packages: %w", err)
	}
	return bytes.Count(packages, []byte("\n")), nil
}
