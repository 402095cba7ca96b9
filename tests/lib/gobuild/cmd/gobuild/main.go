// Command gobuild builds a program of this module and reports the progress of a build that
// takes long:
//
//	gobuild -name 'the demo' -o out/demo ./tests/demo
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/gobuild"
)

func main() {
	program := gobuild.Program{Dir: "."}
	flag.StringVar(&program.Name, "name", "", "what reports call the program")
	target := flag.String("o", "", "the file to write")
	flag.Parse()
	program.Package = flag.Arg(0)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, program, *target); err != nil {
		fmt.Fprintln(os.Stderr, "gobuild:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program gobuild.Program, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return program.Build(ctx, target, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
}
