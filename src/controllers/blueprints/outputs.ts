import { type DeferredReference, fillDeferredValues } from '../../contracts/blueprints/render.ts'
import type { KubeObject } from '../../core/object.ts'
import type { BlueprintExecution, ExecutionStep } from '../../crds/blueprints.ts'
import { plainOutput } from '../../desired/blueprints.ts'
import { componentFieldValue, type ExecutionPass } from './steps.ts'

type Outputs = NonNullable<NonNullable<BlueprintExecution['status']>['outputs']>

/** Collects the outputs of a finished execution. Secret outputs are shown by reference, so their value is not read. */
export function collectOutputs(
  pass: ExecutionPass,
  namespace: string,
  observed: (step: ExecutionStep) => KubeObject | undefined,
): Outputs {
  const { steps, outputs = [] } = pass.object.spec
  return outputs.flatMap(({ name, secret = false, value, component, output }) => {
    if (secret) return []
    if (value !== undefined) return [{ name, value: fillLateText(pass, value, namespace) }]
    const step = steps.find((one) => one.component === component)
    const found = step && observed(step)
    const plainValue = step && found && output && plainOutput(step.collection, found, output)
    return [{ name, ...(plainValue && { value: plainValue }) }]
  })
}

function fillLateText(pass: ExecutionPass, text: string, namespace: string): string {
  const lookUp = (reference: DeferredReference) =>
    reference.root === 'components' ? (componentFieldValue(pass, reference, namespace) ?? '') : undefined
  return fillDeferredValues(text, pass.object.spec.lateMark ?? '', lookUp).slice(0, 8192)
}
