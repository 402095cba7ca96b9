package keystone_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

func TestDirectory_ShowsUsersThemselvesAndAdministratorsAll(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	project := env.AddProject(keystone.Project{Name: "ops"})
	boss := env.AddUser(keystone.User{Name: "boss", Password: "x", Roles: map[string][]string{project.ID: {"admin"}}})
	bossToken, err := env.IssueToken(boss.ID, project.ID)
	must(t, err)
	userToken, err := env.IssueToken(env.user.ID, env.project.ID)
	must(t, err)
	for path, want := range map[string]struct{ user, boss int }{
		"/v3/projects":                   {http.StatusForbidden, http.StatusOK},
		"/v3/projects/" + env.project.ID: {http.StatusOK, http.StatusOK},
		"/v3/projects/" + project.ID:     {http.StatusForbidden, http.StatusOK},
		"/v3/projects/none":              {http.StatusForbidden, http.StatusNotFound},
		"/v3/users":                      {http.StatusForbidden, http.StatusOK},
		"/v3/users/" + env.user.ID:       {http.StatusOK, http.StatusOK},
		"/v3/users/" + boss.ID:           {http.StatusForbidden, http.StatusOK},
		"/v3/users/none":                 {http.StatusForbidden, http.StatusNotFound},
		"/v3/users/none/projects":        {http.StatusForbidden, http.StatusOK},
		"/v3/users/" + boss.ID + "/application_credentials": {http.StatusForbidden, http.StatusOK},
		"/v3/domains":         {http.StatusForbidden, http.StatusOK},
		"/v3/domains/default": {http.StatusOK, http.StatusOK},
		"/v3/domains/none":    {http.StatusForbidden, http.StatusNotFound},
		"/v3/services":        {http.StatusForbidden, http.StatusForbidden},
	} {
		for token, status := range map[string]int{userToken: want.user, bossToken: want.boss, "": http.StatusUnauthorized} {
			if got, body, _ := env.call(http.MethodGet, "/identity"+path, nil, "X-Auth-Token", token); got != status {
				t.Errorf("%s answered %d %s, want %d", path, got, body, status)
			}
		}
	}
}

func TestDirectory_ListsApplicationCredentialsWithoutSecrets(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	env.AddApplicationCredential(keystone.ApplicationCredential{
		Name: "ccm", UserID: env.user.ID, ProjectID: env.project.ID, ExpiresAt: env.clock.Now(),
	})
	token, err := env.IssueToken(env.user.ID, env.project.ID)
	must(t, err)
	_, body, _ := env.call(http.MethodGet, "/identity/v3/users/"+env.user.ID+"/application_credentials", nil, "X-Auth-Token", token)
	var answer struct {
		Credentials []map[string]any `json:"application_credentials"`
	}
	must(t, json.Unmarshal(body, &answer))
	if len(answer.Credentials) != 1 || answer.Credentials[0]["name"] != "ccm" || answer.Credentials[0]["secret"] != nil {
		t.Errorf("listed %s", body)
	}
}
