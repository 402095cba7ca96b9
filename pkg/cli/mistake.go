package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// VerbIn returns the first argument if it can only be a verb: the controller takes no arguments.
func VerbIn(arguments []string) (word string, is bool) {
	if len(arguments) == 0 || arguments[0] == "" || strings.HasPrefix(arguments[0], "-") {
		return "", false
	}
	switch arguments[0] {
	case "help", "completion", completeCommand, plainCompleteCommand:
		return "", false
	}
	return arguments[0], true
}

// UnknownVerb returns the error for a word that is not a verb of a program.
func (all Verbs) UnknownVerb(word, program string) error {
	guess := ""
	if near, found := config.Nearest(word, all.names()); found {
		guess = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("%q is no verb of %s: %sthe verb comes first, one of %s", word, program, guess, strings.Join(all.names(), ", "))
}

// NoArguments is cobra.NoArgs with an error that names the flags to use instead.
func NoArguments(command *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	text := fmt.Sprintf("%q: the verb takes no arguments, only flags", arguments[0])
	if command.Flags().Lookup("cloud-config") != nil {
		text += fmt.Sprintf("; a configuration is --cloud-config=%s", arguments[0])
	}
	return errors.New(text)
}

// SuggestFlag adds the most similar flag to the error for an unknown flag.
func SuggestFlag(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	guess := ""
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var all []string
		command.Flags().VisitAll(func(flag *pflag.Flag) { all = append(all, flag.Name) })
		if near, found := config.Nearest(unknown.GetSpecifiedName(), all); found {
			guess = ": did you mean --" + near + "?"
		}
	}
	return fmt.Errorf("%w%s (--help lists all flags)", err, guess)
}
