package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator"
)

// A process that waits for the lease says on its own port that it lives and is ready.
func TestAStandbyTellsThatItIsReady(t *testing.T) {
	t.Parallel()
	cloud, err := simulator.Start(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	port := freePort(t)
	arguments := append(cluster(t), "--cloud-config="+file(t, "cloud.conf", cloud.CloudConf()), "--leader-elect=true",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--webhook-secure-port=0", "--cert-dir="+filepath.Join(t.TempDir(), "certs"))
	command := exec.CommandContext(t.Context(), os.Args[0], arguments...)
	var log strings.Builder
	command.Env, command.Stderr = []string{asProgram + "=1", "HOME=" + t.TempDir()}, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	status := func(path string) int {
		for {
			resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				return resp.StatusCode
			}
			select {
			case <-ended:
				t.Fatalf("the program ended:\n%s", log.String())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/livez": 404} {
		if got := status(path); got != want {
			t.Errorf("%s answers %d, want %d", path, got, want)
		}
	}
	if err := command.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-ended
}

// freePort gives a port that nobody listens on just now.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
