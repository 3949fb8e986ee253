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

describe('refusalOf', () => {
  for (const [sentence, answer, exitCode, expected] of [
    [
      'names the file, the document and the object',
      answered(422, 'is invalid'),
      EXIT.usage,
      /^a.yaml, document 2: Pod "one": is invalid \(422 of the API server\)$/,
    ],
    [
      'returns a usage error for a value of the wrong type (500)',
      answered(500, `${TYPED}.spec.a: expected numeric, got string`),
      EXIT.usage,
      /: spec.a: expected numeric, got string\.$/,
    ],
    [
      'has one line for each value of the wrong type',
      answered(500, `${TYPED}errors:\n  .spec.a: expected numeric\n  .spec.b: expected map`),
      EXIT.usage,
      /:\n {2}spec.a: expected numeric\.\n {2}spec.b: expected map\.$/,
    ],
    ['returns EXIT.refused and names --kubeconfig for 403', answered(403, 'you cannot'), EXIT.refused, /--kubeconfig/],
    ['returns EXIT.notSignedIn for 401', answered(401, 'Unauthorized'), EXIT.notSignedIn, /does not know you/],
    [
      'names the other field manager and --force-conflicts for an apply conflict',
      answered(409, 'Apply failed with 1 conflict: conflict with "flux": .spec.a'),
      EXIT.refused,
      /flux.*--force-conflicts/,
    ],
    [
      'advises a retry for an object that was modified or deleted concurrently',
      answered(409, 'Operation cannot be fulfilled: the object has been modified'),
      EXIT.refused,
      /modified \(409 of the API server\)\. It was written or deleted meanwhile: try again\.$/,
    ],
    [
      'returns EXIT.refused for a denial of an admission policy',
      answered(422, "ValidatingAdmissionPolicy 'a' with binding 'a' denied request: not here"),
      EXIT.refused,
      /not here/,
    ],
    ['returns a usage error for an unknown field', answered(400, 'unknown field "spec.a"'), EXIT.usage, /spec.a/],
    ['returns EXIT.refused for 429', answered(429, 'later'), EXIT.refused, /too busy/],
    [
      'says that the namespace must exist first for 404',
      answered(404, 'namespaces "a" not found'),
      EXIT.refused,
      /must exist first/,
    ],
    ['removes control characters', answered(422, 'a\u001b[2Jb'), EXIT.usage, /a�\[2Jb/],
  ] as const) {
    it(sentence, () => {
      const refusal = refusalOf(MANIFEST as NonNullable<typeof MANIFEST>, answer)
      expect(refusal.message).to.match(expected)
      expect(refusal.exitCode).to.equal(exitCode)
    })
  }

  for (const [sentence, message, unknown, schema] of [
    ['a field that is not declared', `${TYPED}.spec.a: field not declared in schema`, true, true],
    ['an unknown field of strict decoding', 'strict decoding error: unknown field "spec.a"', true, true],
    ['a value of the wrong type', `${TYPED}.spec.a: expected numeric`, false, true],
    ['a broken rule', 'spec: Invalid value: 0', false, false],
  ] as const) {
    it(`hasUnknownFields and violatesSchema classify ${sentence}`, () => {
      expect([hasUnknownFields(answered(500, message)), violatesSchema(answered(500, message))]).to.deep.equal([
        unknown,
        schema,
      ])
    })
  }
})

describe('violatesRule', () => {
  for (const [sentence, status, message, expected] of [
    ['is true for a value out of range', 422, 'A "x" is invalid: spec.replicas: Invalid value: 1000: too many', true],
    ['is false for a missing field that REST fills in', 422, 'A "x" is invalid: spec.plan: Required value', false],
    [
      'is false for null, which REST treats as absent',
      422,
      'A "x" is invalid: spec.plan: Invalid value: "null"',
      false,
    ],
    [
      'is false for a denial of an admission policy',
      422,
      'a "x" is invalid: : ValidatingAdmissionPolicy "p" denied request: no',
      false,
    ],
    ['is false for 403', 403, 'a is forbidden', false],
  ] as const) {
    it(sentence, () => expect(violatesRule(answered(status, message))).to.equal(expected))
  }
})

describe('explainUnknownKind', () => {
  for (const [sentence, apiVersion, kind, expected] of [
    [
      'names the apiVersion if the version is wrong',
      'data.freehold.dev/v1',
      'VectorCluster',
      'its apiVersion is data.freehold.dev/v1alpha1.',
    ],
    [
      'names the apiVersion if the group is wrong',
      'freehold.dev/v1alpha1',
      'SecretVault',
      'its apiVersion is data.freehold.dev/v1alpha1.',
    ],
    [
      'suggests a kind with a similar name',
      'data.freehold.dev/v1alpha1',
      'VectorClustr',
      'did you mean "VectorCluster"?',
    ],
    ['says that the kind does not exist', 'example.com/v1', 'Zebra', 'there is no kind Zebra in example.com/v1.'],
  ] as const) {
    it(sentence, () => expect(explainUnknownKind({ apiVersion, kind }, RESOURCE_KINDS)).to.include(expected))
  }
})
