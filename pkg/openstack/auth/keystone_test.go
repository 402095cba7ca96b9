package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// Keystone may quote the request that it does not like.
func TestErrors_HaveNoSecrets(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Keystone = func(w http.ResponseWriter, _ *http.Request) {
		body, _ := json.Marshal(cloud.SignIns[len(cloud.SignIns)-1])
		text, _ := json.Marshal("refused: " + string(body))
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"code":401,"message":%s}}`, text)
	}
	_, err := signIn(context.Background(), cloud.Config(), testOptions{})
	if err == nil {
		t.Fatal("signed in")
	}
	var auth *apierror.AuthenticationError
	if !errors.As(err, &auth) || apierror.StatusCode(err) != 401 || apierror.RequestID(err) == "" {
		t.Errorf("status %d, request %q, want an AuthenticationError: %v", apierror.StatusCode(err), apierror.RequestID(err), err)
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), answerOf(err), apierror.Message(err)} {
		if strings.Contains(text, "pa55word") {
			t.Errorf("the password is in: %s", text)
		}
	}
	if !strings.Contains(err.Error(), "Keystone answered 401 refused: ") {
		t.Errorf("does not say what happened: %v", err)
	}
}

func TestSignIn_RefusesUselessTokens(t *testing.T) {
	t.Parallel()
	for want, handler := range map[string]http.HandlerFunc{
		"the token is for no project": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Subject-Token", "t")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"token":{"expires_at":"2030-01-01T00:00:00.000000Z"}}`)
		},
		"has no X-Subject-Token": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"token":{"project":{"id":"p"}}}`)
		},
		"the answer cannot be read": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `<html>`)
		},
	} {
		cloud := fakecloud.New(t)
		cloud.Keystone = handler
		_, err := signIn(context.Background(), cloud.Config(), testOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || apierror.IsUnsure(err) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestSignIn_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cloud := fakecloud.New(t)
	arrived := make(chan struct{}, 10)
	go func() {
		<-arrived
		cancel()
	}()
	cloud.Keystone = func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}
	_, err := signIn(ctx, cloud.Config(), testOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The error of a redirect that is not followed has its target and the remedy.
func TestErrors_NameRedirectThatIsNotFollowed(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = fakecloud.Answer(301, "Location", "https://cloud.example.org:8774/compute/secret?path=1")
	err := getServer(signedIn(t, cloud.Config(), testOptions{}))
	const want = "a redirect to https://cloud.example.org:8774, which is not followed: set that in auth-url, or in the service catalog"
	if err == nil || !strings.Contains(apierror.Wrap(err, "read server 1").Error(), want) {
		t.Errorf("%v", apierror.Wrap(err, "read server 1"))
	}
}
