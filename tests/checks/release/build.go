package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// buildFlags are those of the Dockerfile; a test compares them.
func buildFlags(version, commit string) []string {
	return []string{"-trimpath", "-tags=grpcnotrace", "-ldflags", fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", version, commit)}
}

// build builds the program from the sources in root. Nothing of the machine gets into it:
// neither paths, nor what the repository looks like, nor the environment. An empty cache is
// the user's.
func build(ctx context.Context, root, target, platform, version, commit, cache string) error {
	system, architecture, _ := strings.Cut(platform, "/")
	command := exec.CommandContext(ctx, "go", append(append([]string{"build", "-buildvcs=false", "-mod=readonly"}, buildFlags(version, commit)...),
		"-o", target, "./cmd/"+program)...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0",
		"GOOS="+system, "GOARCH="+architecture)
	if cache != "" {
		command.Env = append(command.Env, "GOCACHE="+cache)
	}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", platform, err, output)
	}
	return nil
}

// verify builds each program again, where nothing is as it was for the first.
func (r *release) verify(ctx context.Context) error {
	elsewhere, err := os.MkdirTemp("", "release-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(elsewhere) }()
	root, cache := filepath.Join(elsewhere, "a", "copy"), filepath.Join(elsewhere, "cache")
	if _, err := git(ctx, r.root, "clone", "--quiet", "--no-local", r.root, root); err != nil {
		return err
	}
	if _, err := git(ctx, root, "checkout", "--quiet", r.commit); err != nil {
		return err
	}
	for _, platform := range r.platforms {
		say("building %s for %s again", program, platform)
		again := filepath.Join(elsewhere, "again")
		if err := build(ctx, root, again, platform, r.version, r.commit, cache); err != nil {
			return err
		}
		first, err := digest(r.binary(platform))
		if err != nil {
			return err
		}
		second, err := digest(again)
		if err != nil {
			return err
		}
		if first != second {
			return fmt.Errorf("%s is not reproducible: %s, and then %s", platform, first, second)
		}
		say("%s is the same: sha256:%s", platform, first)
	}
	return nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, stderr.String())
	}
	return strings.TrimSpace(string(output)), nil
}

// digest is the SHA-256 of a file, in hexadecimal digits.
func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
