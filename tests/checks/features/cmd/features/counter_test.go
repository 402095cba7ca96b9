package main

import (
	"io"
	"strings"
	"testing"
)

func TestCounter_CountsLinesThatPackagesEndWith(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	counter := &counter{to: &out, total: 12}
	for _, line := range []string{"ok  \ta\t1s\n", "--- FAIL: TestX\n", "    x_test.go:1: bad\n", "FAIL\tb\t1s\n", "?   \tc\t[no test files]\n", "FAIL\n"} {
		if _, err := io.WriteString(counter, line); err != nil {
			t.Fatal(err)
		}
	}
	want := "[ 1/12] ok  \ta\t1s\n--- FAIL: TestX\n    x_test.go:1: bad\n[ 2/12] FAIL\tb\t1s\n[ 3/12] ?   \tc\t[no test files]\nFAIL\n"
	if out.String() != want {
		t.Errorf("written:\n%s\nwant:\n%s", out.String(), want)
	}
}
