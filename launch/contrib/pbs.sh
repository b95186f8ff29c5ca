#!/usr/bin/env bash
# A run under PBS that goes on in another job when its time is over. NOT TESTED: see README.md.
#   qsub -v CONFIG=configs/cart_pole.json launch/contrib/pbs.sh
#   qsub -J 1-100 -v CONFIG=configs/cart_pole.json launch/contrib/pbs.sh      # a run of each seed
# PBS sends TERM at the end of the walltime; launch/mpi makes SIGUSR1 of it, the run saves a checkpoint and leaves
# with exit code 5, and this script submits itself again. Give kill_delay of the server some seconds for that.
#PBS -N cambrian
#PBS -l select=2:ncpus=16:mpiprocs=1
#PBS -l walltime=04:00:00
#PBS -j oe
#PBS -r y
set -uo pipefail
cd "$PBS_O_WORKDIR" || exit 1
config=${CONFIG:?submit with -v CONFIG=path/to/config.json}
launcher=${CAMBRIAN_LAUNCHER:-launch/mpi}
ranks=$(wc -l <"$PBS_NODEFILE")

# TERM is for the ranks: without a handler it would end this script before they have saved anything.
trap '[ -z "${job:-}" ] || kill -TERM "$job"' TERM
# shellcheck disable=SC2086  # ARGUMENTS are several words.
"$launcher" -n "$ranks" --hostfile "$PBS_NODEFILE" cambrian evolve "$config" --continue \
    ${PBS_ARRAY_INDEX:+--set run.seed=$PBS_ARRAY_INDEX} ${ARGUMENTS:-} &
job=$!
wait "$job"
code=$?
while kill -0 "$job" 2>/dev/null; do # A signal ends the wait, not the job.
    wait "$job"
    code=$?
done
if [ "$code" -eq 5 ]; then
    if [ -n "${PBS_ARRAY_INDEX:-}" ]; then
        qsub -v "CONFIG=$config,CAMBRIAN_LAUNCHER=$launcher,ARGUMENTS=--set run.seed=$PBS_ARRAY_INDEX ${ARGUMENTS:-}" launch/contrib/pbs.sh
    else
        qsub -v "CONFIG=$config,CAMBRIAN_LAUNCHER=$launcher,ARGUMENTS=${ARGUMENTS:-}" launch/contrib/pbs.sh
    fi
    exit 0
fi
exit "$code"
