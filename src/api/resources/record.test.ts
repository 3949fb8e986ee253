import { expect } from 'chai'
import { z } from 'zod'
import { RelationalCluster } from '../../crds/relational.ts'
import { instanceRecord } from '../containerinstances/record.ts'
import { SERVED_ROUTES } from '../index.ts'
import { jobRecord } from '../jobs/record.ts'
import { accountRecord } from '../objectstorage/record.ts'
import { relationalRecord } from '../relational/record.ts'
import { sqlRecord } from '../sql/record.ts'
import { vaultRecord } from '../vaults/record.ts'
import { vectorRecord } from '../vector/record.ts'
import { headFields } from './dto.ts'

const missing = (body: z.ZodType, value: object) =>
  (body.safeParse(value).error?.issues ?? []).map(({ path }) => path.join('.'))

describe('the body of a record', () => {
  it('requires the fields without a default', () => {
    expect(missing(instanceRecord.body, {})).to.deep.equal(['components'])
    expect(missing(instanceRecord.body, { components: null })).to.deep.equal(['components'])
    expect(missing(jobRecord.body, {})).to.deep.equal(['image'])
    expect(missing(jobRecord.body, { image: null })).to.deep.equal(['image'])
  })

  it('requires nothing if all fields have defaults', () => {
    for (const { body } of [vectorRecord, relationalRecord, sqlRecord, vaultRecord, accountRecord])
      expect(missing(body, {})).to.deep.equal([])
  })
})

describe('the record of a resource', () => {
  it('describes a computed field like the status field, with the meaning of null', () => {
    const descriptionOf = (name: string) => (relationalRecord.dto.shape as Record<string, z.ZodType>)[name]?.description
    expect(descriptionOf('lastBackupAt')).to.equal(RelationalCluster.status.shape.lastBackupAt.description)
    expect(descriptionOf('publicEndpoint')).to.equal('Address and port of the load balancer; null without one')
  })

  const dtos = new Map<string, z.ZodObject>()
  for (const { method, reply } of SERVED_ROUTES) {
    if (method !== 'GET' || !(reply instanceof z.ZodObject)) continue
    const { shape } = reply
    if (shape.boundaryId !== undefined && shape.collection !== undefined && shape.clusterName !== undefined)
      dtos.set(String(reply.meta()?.id), reply)
  }
  const HEAD = [...Object.keys(headFields), 'clusterId']
  const NULLABLE = ['phase', 'statusMessage']

  it('is tested for VectorClusterDto, SecretVaultDto and AppDto, among others', () => {
    expect([...dtos.keys()]).to.include.members(['VectorClusterDto', 'SecretVaultDto', 'AppDto'])
  })

  for (const [id, { shape }] of dtos)
    it(`declares the common fields except phase and statusMessage as non-nullable: ${id}`, () => {
      const nullable = HEAD.filter((name) => shape[name]?.safeParse(null).success === true)
      expect(nullable.filter((name) => !NULLABLE.includes(name))).to.deep.equal([])
    })
})
