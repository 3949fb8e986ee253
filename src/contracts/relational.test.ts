import { expect } from 'chai'
import {
  archiveServerName,
  connectionForms,
  engineHost,
  isRefusedParameter,
  recoveryWindowObstacle,
} from './relational.ts'

describe('words of relational databases', () => {
  it('name the engine itself, never a Service that may lead to another database', () => {
    expect(engineHost('home', 'orders')).to.equal('relc-orders-rw.home.svc')
  })

  it('let a snapshot be restored to its end, also where the archive stopped before', () => {
    const archive = {
      archiving: 'Failing',
      firstRecoverableAt: '2026-01-01T08:00:00Z',
      archivingStoppedAt: '2026-01-01T09:00:00Z',
    }
    const outside = (target: string) =>
      recoveryWindowObstacle(target, '2026-01-01T10:00:00Z', archive, '2026-01-01T12:00:00Z')
    expect(outside('2026-01-01T10:00:00Z')).to.equal(undefined)
    expect(outside('2026-01-01T11:00:00Z')).to.include({
      earliest: '2026-01-01T10:00:00Z',
      latest: '2026-01-01T10:00:00Z',
    })
  })

  it('escape what a password may hold, in each form', () => {
    const forms = connectionForms({ host: 'h', port: 5432, database: 'app', username: 'a b', password: 'p@/?&;"x' })
    expect(new URL(forms.uri).password).to.equal(encodeURIComponent('p@/?&;"x'))
    expect(new URL(forms.jdbc.replace('jdbc:', '')).searchParams.get('password')).to.equal('p@/?&;"x')
    expect(forms.adoNet).to.contain('Username="a b";Password="p@/?&;""x";')
  })

  it('put an IPv6 address into brackets', () => {
    const { uri } = connectionForms({ host: '2001:db8::1', port: 5432, database: 'a', username: 'a', password: 'a' })
    expect(uri).to.equal('postgresql://a:a@[2001:db8::1]:5432/a?sslmode=require')
  })

  it('give a database that is made anew another place in the archive', () => {
    expect(archiveServerName('relc-orders', 'aaaaaaaa-1111')).not.to.equal(
      archiveServerName('relc-orders', 'bbbbbbbb-1111'),
    )
  })

  // What the engine's operator sets itself; it refuses the whole Cluster for one of them (CloudNativePG, `configuration.go`).
  const itsOwn = [
    ...['log_rotation_age', 'log_rotation_size', 'log_truncate_on_rotation', 'recovery_min_apply_delay'],
    ...['synchronized_standby_slots', 'syslog_sequence_numbers', 'syslog_split_messages', 'temp_tablespaces'],
  ]
  for (const name of [
    'archive_command',
    'ssl',
    'ssl_ca_file',
    'recovery_target_time',
    'shared_preload_libraries',
    ...itsOwn,
  ]) {
    it(`refuse the parameter ${name}`, () => expect(isRefusedParameter(name)).to.equal(true))
  }
  for (const name of ['work_mem', 'max_connections', 'log_statement']) {
    it(`let the parameter ${name} through`, () => expect(isRefusedParameter(name)).to.equal(false))
  }
})
