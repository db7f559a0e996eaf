package main

import (
	"context"

	"github.com/compose-spec/compose-go/v2/cli"
)

// checkCompose validates a file by the schema of the Compose specification and by the checks of the loader. It adds
// no variable of this process.
func checkCompose(file string) ([]byte, []error) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("holdfast"))
	if err != nil {
		return nil, []error{err}
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, []error{err}
	}
	output, err := project.MarshalJSON()
	if err != nil {
		return nil, []error{err}
	}
	return output, nil
}
