//go:build !linux

package netns

import "errors"

func (n Namespace) do(f func() error) error {
	if n == "" {
		return f()
	}
	return errors.New("network namespaces are Linux'")
}
