package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

//proves:121
func TestProgram_ChecksCloudConf(t *testing.T) {
	t.Parallel()
	cloud, err := simulator.Start(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	conf := file(t, "cloud.conf", cloud.CloudConf())
	got := runProgram(t, nil, "check", "--cloud-config="+conf)
	if got.code != 0 || !strings.Contains(got.out, "ok  project   k8s (") || strings.Contains(got.out, "\x1b") || got.errors != "" ||
		!strings.HasPrefix(got.out, "Sign-in\n") || strings.Contains(got.out, cloud.Account.Password) {
		t.Errorf("good: %+v", got)
	}
	got = runProgram(t, nil, "check", "--cloud-config="+conf, "--settings", "--offline")
	if got.code != 0 || !strings.HasPrefix(got.out, "Settings of "+conf+"\n") || strings.Contains(got.out, cloud.Account.Password) {
		t.Errorf("settings: %+v", got)
	}
	overwrite(t, conf, cloud.CloudConf()+"flavour-id=x\n")
	got = runProgram(t, nil, "check", "--cloud-config="+conf, "--offline", "-o", "json")
	var report struct {
		Findings []struct{ Verdict, Text, Source string }
		Code     int `json:"exitCode"`
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Errorf("%v: %s", err, got.out)
	}
	if got.code != 2 || report.Code != 2 || len(report.Findings) != 1 || report.Findings[0].Verdict != "warning" ||
		!strings.Contains(report.Findings[0].Text, `did you mean "flavor-id"?`) || report.Findings[0].Source != "line 12" {
		t.Errorf("an unknown key: exit code %d, %+v", got.code, report)
	}
	if got = runProgram(t, nil, "check", "--cloud-config="+conf, "--offline", "--tolerate-warnings"); got.code != 0 {
		t.Errorf("warnings are not tolerated: %+v", got)
	}
	got = runProgram(t, []string{"OS_AUTH_URL=" + cloud.AuthURL(), "OS_USERNAME=k8s", "OS_PASSWORD=" + password}, "check", "--offline", "--settings")
	if got.code != 1 || !strings.Contains(got.out, "environment OS_PASSWORD") || strings.Contains(got.out+got.errors, password) {
		t.Errorf("the environment: %+v", got)
	}
}
