import { expect } from 'chai'
import { RESOURCE_KINDS } from '../client/index.ts'
import { EXIT } from './failure.ts'
import { explainUnknownKind, hasUnknownFields, refusalOf, violatesRule, violatesSchema } from './kubernetesRefusal.ts'
import { parseManifests } from './manifests.ts'

const [, MANIFEST] = parseManifests(
  '{apiVersion: v1, kind: A, metadata: {}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: one}}',
  'a.yaml',
)
const answered = (status: number, message: string) => ({ status, body: { message } })
const TYPED = 'failed to create typed patch object (ns/one; v1, Kind=Pod): '

describe('what the API server refuses', () => {
  for (const [sentence, answer, exitCode, expected] of [
    [
      'names the file, the document and the object',
      answered(422, 'is invalid'),
      EXIT.usage,
      /^a.yaml, document 2: Pod "one": is invalid \(422 of the API server\)$/,
    ],
    [
      'is no error of the server where a value is of another type',
      answered(500, `${TYPED}.spec.a: expected numeric, got string`),
      EXIT.usage,
      /: spec.a: expected numeric, got string\.$/,
    ],
    [
      'has a line for each value of another type',
      answered(500, `${TYPED}errors:\n  .spec.a: expected numeric\n  .spec.b: expected map`),
      EXIT.usage,
      /:\n {2}spec.a: expected numeric\.\n {2}spec.b: expected map\.$/,
    ],
    ['is a matter of rights', answered(403, 'you cannot'), EXIT.refused, /--kubeconfig/],
    ['is nobody who is known', answered(401, 'Unauthorized'), EXIT.notSignedIn, /does not know you/],
    [
      'is what others write',
      answered(409, 'Apply failed with 1 conflict: conflict with "flux": .spec.a'),
      EXIT.refused,
      /flux.*--force-conflicts/,
    ],
    [
      'has changed or gone meanwhile',
      answered(409, 'Operation cannot be fulfilled: the object has been modified'),
      EXIT.refused,
      /modified \(409 of the API server\)\. It was written or deleted meanwhile: try again\.$/,
    ],
    [
      'is what a policy denies',
      answered(422, "ValidatingAdmissionPolicy 'a' with binding 'a' denied request: not here"),
      EXIT.refused,
      /not here/,
    ],
    ['is a field that the kind has not', answered(400, 'unknown field "spec.a"'), EXIT.usage, /spec.a/],
    ['is too much', answered(429, 'later'), EXIT.refused, /too busy/],
    ['has nowhere to stand', answered(404, 'namespaces "a" not found'), EXIT.refused, /must exist first/],
    ['holds no order to the terminal', answered(422, 'a\u001b[2Jb'), EXIT.usage, /a�\[2Jb/],
  ] as const) {
    it(sentence, () => {
      const refusal = refusalOf(MANIFEST as NonNullable<typeof MANIFEST>, answer)
      expect(refusal.message).to.match(expected)
      expect(refusal.exitCode).to.equal(exitCode)
    })
  }

  for (const [sentence, message, unknown, schema] of [
    ['a field that is not declared', `${TYPED}.spec.a: field not declared in schema`, true, true],
    ['a field of strict decoding', 'strict decoding error: unknown field "spec.a"', true, true],
    ['a value of another type', `${TYPED}.spec.a: expected numeric`, false, true],
    ['a rule', 'spec: Invalid value: 0', false, false],
  ] as const) {
    it(`is seen to be ${sentence}`, () => {
      expect([hasUnknownFields(answered(500, message)), violatesSchema(answered(500, message))]).to.deep.equal([
        unknown,
        schema,
      ])
    })
  }
})

describe('a rule of a kind', () => {
  for (const [sentence, status, message, expected] of [
    ['is broken by a value out of bounds', 422, 'A "x" is invalid: spec.replicas: Invalid value: 1000: too many', true],
    ['is not broken by what REST fills in', 422, 'A "x" is invalid: spec.plan: Required value', false],
    [
      'is not broken by null, which is absent to REST',
      422,
      'A "x" is invalid: spec.plan: Invalid value: "null"',
      false,
    ],
    ['is none of a policy', 422, 'a "x" is invalid: : ValidatingAdmissionPolicy "p" denied request: no', false],
    ['is none of rights', 403, 'a is forbidden', false],
  ] as const) {
    it(sentence, () => expect(violatesRule(answered(status, message))).to.equal(expected))
  }
})

describe('a kind that nobody serves', () => {
  for (const [sentence, apiVersion, kind, expected] of [
    ['has another version', 'data.freehold.dev/v1', 'VectorCluster', 'its apiVersion is data.freehold.dev/v1alpha1.'],
    ['is of another group', 'freehold.dev/v1alpha1', 'SecretVault', 'its apiVersion is data.freehold.dev/v1alpha1.'],
    ['is mistyped', 'data.freehold.dev/v1alpha1', 'VectorClustr', 'did you mean "VectorCluster"?'],
    ['is none at all', 'example.com/v1', 'Zebra', 'there is no kind Zebra in example.com/v1.'],
  ] as const) {
    it(sentence, () => expect(explainUnknownKind({ apiVersion, kind }, RESOURCE_KINDS)).to.include(expected))
  }
})
