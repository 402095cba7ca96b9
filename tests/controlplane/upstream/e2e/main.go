// Command e2e is e2e.test of Kubernetes with only the specs of package network. With those of all
// packages it would take several times as long to compile.
package main

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	_ "k8s.io/kubernetes/test/e2e/network"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"
)

// specLimit is the longest that a spec may take with what it sets up; then it fails, and the next one runs.
const specLimit = 25 * time.Minute

func main() {
	testing.Init()
	ginkgo.AddTreeConstructionNodeArgsTransformer(limit)
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "TestE2E", F: e2e.RunE2ETests}}, nil, nil)
}

// limit adds the limit to a spec.
func limit(kind types.NodeType, _ ginkgo.Offset, text string, args []any) (string, []any, []error) {
	for _, arg := range args {
		if _, takesContext := arg.(func(context.Context)); takesContext && kind == types.NodeTypeIt {
			return text, append(args, ginkgo.SpecTimeout(specLimit)), nil
		}
	}
	return text, args, nil
}
