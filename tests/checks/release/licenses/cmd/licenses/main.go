// Command licenses prints the license texts and notices of all modules in the controller, for
// the Dockerfile. Its arguments are the platforms, such as linux/amd64.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/release/licenses"
)

func main() {
	modules, err := licenses.Of(context.Background(), ".", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
	fmt.Print(licenses.Text(modules))
}
