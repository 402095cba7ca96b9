// Promrules runs the unit tests of alerting rules as `promtool test rules` does, as far as this
// repository needs that, on the engine of Prometheus. It is a module of its own, so that the
// controller does not depend on Prometheus, and much less to build than promtool.
//
//	promrules RULES TESTS    tests rules
//	promrules -parse         parses the queries that it reads, one in each line
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "-parse":
		return parse()
	case len(args) == 2:
		return testFile(args[0], args[1])
	}
	return fmt.Errorf("usage: promrules RULES TESTS, or promrules -parse")
}

func parse() error {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(lines.Text()); err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
	}
	return nil
}
