"""The walls around a workspace, declared at the model: keys that stay inside it, and the policy of its rows.

To Django they are constraints, which `makemigrations` writes and the database keeps.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.checks import Error
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import BaseConstraint, ForeignKey, Model

#: The workspaces of the request, which memories.tenancy.row_level_security sets; none where nothing is set.
_INSIDE = "workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[])"
#: Rows without a workspace are everybody's who has one.
_INSIDE_OR_OF_ALL = f"{_INSIDE} OR (workspace_id IS NULL AND cardinality((SELECT memplatform_workspaces())) > 0)"

#: Relations without a wall: an undo is made from the batch it names, and a refused fact may outlive its scope.
_OPEN = {("Batch", "undoes"), ("RefusedFact", "scope")}


class _Wall(BaseConstraint):
    def constraint_sql(self, model: type[Model] | None, schema_editor: BaseDatabaseSchemaEditor | None) -> str:
        """Nothing inside CREATE TABLE: a table that is pointed to may be made after this one."""
        assert schema_editor
        schema_editor.deferred_sql.append(self.create_sql(model, schema_editor))
        return ""

    def validate(self, *args: Any, **kwargs: Any) -> None:
        """The database alone judges."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wall) and self.deconstruct() == other.deconstruct()

    __hash__ = BaseConstraint.__hash__


class InsideWorkspace(_Wall):
    """A foreign key by which a row cannot point into another workspace; `cascade`: it goes with what it points to."""

    def __init__(self, relation: str, *, name: str, cascade: bool = False) -> None:
        super().__init__(name=name)
        self.relation, self.cascade = relation, cascade

    def create_sql(self, model: type[Model] | None, schema_editor: BaseDatabaseSchemaEditor | None) -> str:
        assert model
        field = model._meta.get_field(self.relation)
        assert isinstance(field, ForeignKey)
        return (
            f"ALTER TABLE {model._meta.db_table} ADD CONSTRAINT {self.name} FOREIGN KEY ({field.column}, workspace_id)"
            f" REFERENCES {field.related_model._meta.db_table} (id, workspace_id)"
            f"{' ON DELETE CASCADE' if self.cascade else ''}"
        )

    def remove_sql(self, model: type[Model] | None, schema_editor: BaseDatabaseSchemaEditor | None) -> str:
        assert model
        return f"ALTER TABLE {model._meta.db_table} DROP CONSTRAINT {self.name}"

    def deconstruct(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        path, _args, kwargs = super().deconstruct()
        return path, (self.relation,), kwargs | ({"cascade": True} if self.cascade else {})


class WorkspacePolicy(_Wall):
    """Row-level security for the logins of the processes; who owns the tables, and migrates, is not bound by it.

    `of_all`: rows without a workspace are open to all who have one, and may be written by everybody. `command`: for
    one kind of statement alone (SELECT, INSERT). A table whose policy is removed stays closed.
    """

    def __init__(self, *, name: str, of_all: bool = False, command: str = "") -> None:
        super().__init__(name=name)
        self.of_all, self.command = of_all, command

    def create_sql(self, model: type[Model] | None, schema_editor: BaseDatabaseSchemaEditor | None) -> str:
        assert model
        condition = f"USING ({_INSIDE_OR_OF_ALL if self.of_all else _INSIDE})"
        if self.command == "INSERT":
            condition = f"WITH CHECK ({'workspace_id IS NULL OR ' if self.of_all else ''}{_INSIDE})"
        return (
            f"ALTER TABLE {model._meta.db_table} ENABLE ROW LEVEL SECURITY;"
            f" CREATE POLICY {self.name} ON {model._meta.db_table}"
            f"{f' FOR {self.command}' if self.command else ''} {condition}"
        )

    def remove_sql(self, model: type[Model] | None, schema_editor: BaseDatabaseSchemaEditor | None) -> str:
        assert model
        return f"DROP POLICY {self.name} ON {model._meta.db_table}"

    def deconstruct(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        path, args, kwargs = super().deconstruct()
        more = {"of_all": self.of_all, "command": self.command}
        return path, (*args,), kwargs | {name: value for name, value in more.items() if value}


def walls_are_declared(app_configs: Any, **kwargs: Any) -> Iterator[Error]:
    """A check of Django's: tables with a workspace whose rows, or whose relations to such tables, have no wall."""
    with_workspace = {
        model for model in apps.get_models() if "workspace_id" in {column.column for column in model._meta.fields}
    }
    for model in with_workspace:
        name, walls = model.__name__, model._meta.constraints
        if not any(isinstance(wall, WorkspacePolicy) for wall in walls):
            yield Error(f"{name} has no WorkspacePolicy.", "Add one to its constraints.", model, "memories.E001")
        inside = {wall.relation for wall in walls if isinstance(wall, InsideWorkspace)}
        for column in model._meta.fields:
            is_wall = column.name in inside or (name, column.name) in _OPEN
            if column.related_model in with_workspace and not is_wall:
                hint = "Add an InsideWorkspace of it to the constraints."
                yield Error(f"{name}.{column.name} may point elsewhere.", hint, model, "memories.E002")
