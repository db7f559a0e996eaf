package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	pods "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	admission "k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// checkKubernetes checks each object of a kustomization.
func checkKubernetes(folder string) ([]byte, []error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, []error{err}
	}
	var problems []error
	for _, object := range objects.Resources() {
		text, err := object.AsYAML()
		if err == nil {
			err = checkObject(text)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	output, err := objects.AsYaml()
	if err != nil {
		return nil, []error{err}
	}
	return output, nil
}

// checkObject refuses unknown fields and fields of a wrong type, and then asks the API server's validation.
func checkObject(text []byte) error {
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	external, kind, err := codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return err
	}
	legacyscheme.Scheme.Default(external)
	if err := checkPodSecurity(external); err != nil {
		return err
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(external, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	setNamespace(internal)
	list, known := validate(internal)
	if !known {
		return fmt.Errorf("%s is no kind that this program can check", kind)
	}
	if len(list) > 0 {
		return fmt.Errorf("%s", strings.ReplaceAll(list.ToAggregate().Error(), "\n", " "))
	}
	return nil
}

// checkPodSecurity applies the Pod Security Standard "restricted" to the pods of a Deployment.
func checkPodSecurity(object runtime.Object) error {
	deployment, ok := object.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	evaluator, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks())
	if err != nil {
		return err
	}
	level := admission.LevelVersion{Level: admission.LevelRestricted, Version: admission.LatestVersion()}
	pod := &deployment.Spec.Template
	if result := podsecurity.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		return fmt.Errorf("not restricted: %s", result.ForbiddenDetail())
	}
	return nil
}

// setNamespace does what kubectl does: an object without a namespace belongs to the namespace of the context.
func setNamespace(object runtime.Object) {
	type namespaced interface {
		GetNamespace() string
		SetNamespace(string)
	}
	if meta, ok := object.(namespaced); ok && meta.GetNamespace() == "" {
		meta.SetNamespace("default")
	}
}

func validate(object runtime.Object) (field.ErrorList, bool) {
	switch typed := object.(type) {
	case *apps.Deployment:
		options := pods.GetValidationOptionsFromPodTemplate(&typed.Spec.Template, nil)
		return appsvalidation.ValidateDeployment(typed, options), true
	case *core.Service:
		// The API server fills these fields before it validates.
		typed.Spec.ClusterIPs = []string{typed.Spec.ClusterIP}
		typed.Spec.IPFamilies = []core.IPFamily{core.IPv4Protocol}
		policy := core.IPFamilyPolicySingleStack
		typed.Spec.IPFamilyPolicy = &policy
		return corevalidation.ValidateServiceCreate(typed), true
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(typed), true
	case *core.Secret:
		return corevalidation.ValidateSecret(typed), true
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(typed), true
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(typed, policyvalidation.PodDisruptionBudgetValidationOptions{}), true
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(typed, networkingvalidation.NetworkPolicyValidationOptions{}), true
	}
	return nil, false
}
