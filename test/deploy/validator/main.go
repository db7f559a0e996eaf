// Command validator checks the files of deploy/ with the code of the programs that read them.
//
//	validator kubernetes FOLDER   builds FOLDER with kustomize, and prints the objects as YAML
//	validator compose FILE        loads FILE as Docker Compose does, and prints the project as JSON
//
// Objects of Kubernetes are decoded strictly, get the defaults of the API server, and pass the API server's
// validation. Each problem is a line on standard error, and the exit code is then 1.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: validator kubernetes FOLDER, or validator compose FILE"))
	}
	checks := map[string]func(string) ([]byte, []error){"kubernetes": checkKubernetes, "compose": checkCompose}
	check, known := checks[os.Args[1]]
	if !known {
		fail(fmt.Errorf("%q is no kind of file; say kubernetes or compose", os.Args[1]))
	}
	output, problems := check(os.Args[2])
	fail(problems...)
	os.Stdout.Write(output)
}

func fail(problems ...error) {
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}
