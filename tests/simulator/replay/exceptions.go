package replay

import (
	"path"
	"strings"
)

// Exception is an answer that is deliberately not the recorded one.
type Exception struct {
	// Recording is a glob of names, such as "members" or "*"; Lines are those
	// concerned, all when nil.
	Recording string
	Lines     []int
	// Recorded, where set, is a text that the recorded answer contains.
	Recorded string
	// StatusOnly is set if only the status must be equal.
	StatusOnly bool
	Reason     string
}

// Exceptions returns all of them.
func Exceptions() []Exception {
	return []Exception{
		{
			Recorded: `"(sqlite3.`, StatusOnly: true,
			Reason: "the text is that of the recorder's database, which no deployment uses, with its SQL",
		},
		{
			Recorded: `"Python int too large to convert to SQLite`, StatusOnly: true,
			Reason: "as above: the limits of the recorder's database are not those of a deployment's",
		},
		{
			Recorded: `"(builtins.TypeError)`, StatusOnly: true,
			Reason: "as above: what the recorder's database layer says of repeated filters, with its SQL",
		},
		{
			Recording: "03-batch-member-put", Lines: []int{2, 3, 5, 10, 13}, Recorded: `"operating_status": "ERROR"`, StatusOnly: true,
			Reason: "a look into the queue of the driver ovn of 2025.1, which still has to remove members; and its " +
				"monitor has found a member down",
		},
		{
			Recording: "05-delete", Lines: []int{5}, Recorded: `"PENDING_DELETE"`, StatusOnly: true,
			Reason: "a look into the middle of a cascading deletion, when the worker has deleted the pools and not yet " +
				"the listeners; here everything goes at once",
		},
	}
}

// excepted finds the exception that concerns a step.
func excepted(recording Recording, step Step) (Exception, bool) {
	for _, exception := range Exceptions() {
		if exception.concerns(recording, step) {
			return exception, true
		}
	}
	return Exception{}, false
}

func (e Exception) concerns(recording Recording, step Step) bool {
	if e.Recording != "" {
		matches, err := path.Match(e.Recording, recording.Name)
		if err != nil || !matches {
			return false
		}
	}
	listed := e.Lines == nil
	for _, line := range e.Lines {
		listed = listed || line == step.Line
	}
	return listed && strings.Contains(step.Response, e.Recorded)
}
